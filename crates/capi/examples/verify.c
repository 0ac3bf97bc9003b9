/*
 * Verifies an envelope, then the same envelope with one byte changed.
 *
 *     verify REGISTRY.json POLICY.json ENVELOPE NETWORK HEIGHT TIME_S
 *
 * Exit code 0: the first was accepted and the second was not.
 */
#include <stdio.h>
#include <stdlib.h>

#include "horizon.h"

typedef struct {
    uint8_t *bytes;
    size_t len;
} file;

static file read_file(const char *path) {
    file result = {NULL, 0};
    FILE *stream = fopen(path, "rb");
    long len = -1;
    if (stream != NULL && fseek(stream, 0, SEEK_END) == 0) {
        len = ftell(stream);
    }
    if (len > 0 && fseek(stream, 0, SEEK_SET) == 0) {
        result.bytes = malloc((size_t)len);
        if (result.bytes != NULL) {
            result.len = fread(result.bytes, 1, (size_t)len, stream);
        }
    }
    if (stream != NULL) {
        fclose(stream);
    }
    if (len <= 0 || result.len != (size_t)len) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(HORIZON_USAGE);
    }
    return result;
}

static void print_verdict(const char *what, int32_t status, const uint8_t *verdict, size_t len) {
    printf("%s: %d, %s\n%.*s\n", what, (int)status, horizon_status_text(status), (int)len, (const char *)verdict);
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "verify REGISTRY.json POLICY.json ENVELOPE NETWORK HEIGHT TIME_S\n");
        return HORIZON_USAGE;
    }
    file registry = read_file(argv[1]);
    file policy = read_file(argv[2]);
    file envelope = read_file(argv[3]);
    horizon_context context = {0};
    context.network_id = (uint32_t)strtoul(argv[4], NULL, 10);
    context.source_height = strtoull(argv[5], NULL, 10);
    context.time_s = strtoull(argv[6], NULL, 10);

    static uint8_t verdict[HORIZON_VERDICT_LEN_MAX];
    size_t len = 0;
    horizon_verifier *verifier = NULL;
    int32_t status = horizon_verifier_new(registry.bytes, registry.len, policy.bytes, policy.len, &verifier, verdict,
                                          sizeof verdict, &len);
    if (status != HORIZON_OK) {
        print_verdict("registry and policy", status, verdict, len);
        return (int)status;
    }

    int32_t good =
        horizon_verifier_verify(verifier, envelope.bytes, envelope.len, &context, verdict, sizeof verdict, &len);
    print_verdict("as it is", good, verdict, len);

    envelope.bytes[envelope.len / 2] ^= 1;
    int32_t bad =
        horizon_verifier_verify(verifier, envelope.bytes, envelope.len, &context, verdict, sizeof verdict, &len);
    print_verdict("one byte changed", bad, verdict, len);

    horizon_verifier_free(verifier);
    free(envelope.bytes);
    free(policy.bytes);
    free(registry.bytes);
    return good == HORIZON_OK && bad == HORIZON_REFUSED ? 0 : 1;
}
