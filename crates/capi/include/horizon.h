/*
 * Horizon: does this envelope from another chain satisfy our policy?
 *
 * Link with libhorizon_capi. No function keeps a pointer after it returns, except that a verifier lives until it is
 * freed. All functions may be called from several threads at once, on one verifier too.
 */
#ifndef HORIZON_H
#define HORIZON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses. Act on HORIZON_OK only. The numbers are those of the command line's exit codes. */
#define HORIZON_OK 0                  /* the envelope satisfies the policy */
#define HORIZON_INTERNAL 1            /* a fault of the library; nothing was verified */
#define HORIZON_USAGE 2               /* null pointer, length above its limit, unknown flag */
#define HORIZON_REFUSED 3             /* these bytes will never be accepted */
#define HORIZON_NOT_ENOUGH_EVIDENCE 4 /* more evidence or more time may help */
#define HORIZON_CONFIGURATION 5       /* registry or policy do not load or do not cover the source */
#define HORIZON_BUFFER_TOO_SMALL 8    /* says nothing about the envelope; *out_len is what is needed */

/* Limits, in bytes. */
#define HORIZON_REGISTRY_LEN_MAX 67108864
#define HORIZON_POLICY_LEN_MAX 1048576
#define HORIZON_ENVELOPE_LEN_MAX 1048576
#define HORIZON_VERDICT_LEN_MAX 4096 /* a buffer of this size is never too small */

/* Flags of a context. */
#define HORIZON_SEQUENTIAL 1         /* lanes one after the other, on the calling thread */
#define HORIZON_MESSAGE_GENERATION 2 /* take version 1 messages, under the era and generation below */

/* Where the verifier stands. The library reads no clock and no chain. */
typedef struct horizon_context {
    uint32_t network_id;         /* the network whose messages are taken */
    uint32_t flags;              /* sum of flags; the others must be 0 */
    uint64_t source_height;      /* height of the source chain as the caller knows it */
    uint64_t time_s;             /* seconds since 1970 */
    uint64_t message_key_era;    /* with HORIZON_MESSAGE_GENERATION */
    uint64_t message_generation; /* with HORIZON_MESSAGE_GENERATION */
} horizon_context;

/* A loaded registry and policy. */
typedef struct horizon_verifier horizon_verifier;

/*
 * Loads registry and policy (JSON) and verifies one envelope. For more than one envelope make a verifier: loading checks
 * every validator's proof of possession, which costs far more than one envelope.
 *
 * The verdict is one JSON object in UTF-8 without a terminating zero, `*out_len` bytes in `out`. It is written for the
 * statuses 0, 3, 4 and 5; for the others `*out_len` is 0 or, for HORIZON_BUFFER_TOO_SMALL, the length needed.
 * `payload_offset` and `payload_len` of an accepted envelope say where its payload is in the caller's bytes.
 */
int32_t horizon_verify(const uint8_t *registry, size_t registry_len, const uint8_t *policy, size_t policy_len,
                       const uint8_t *envelope, size_t envelope_len, const horizon_context *context, uint8_t *out,
                       size_t out_capacity, size_t *out_len);

/* Loads registry and policy. HORIZON_OK stores a handle and no verdict; any other status stores NULL. */
int32_t horizon_verifier_new(const uint8_t *registry, size_t registry_len, const uint8_t *policy, size_t policy_len,
                             horizon_verifier **verifier, uint8_t *out, size_t out_capacity, size_t *out_len);

/* Verifies one envelope, as horizon_verify does. */
int32_t horizon_verifier_verify(const horizon_verifier *verifier, const uint8_t *envelope, size_t envelope_len,
                                const horizon_context *context, uint8_t *out, size_t out_capacity, size_t *out_len);

/* Frees a verifier, once, when no call uses it. NULL is allowed. */
void horizon_verifier_free(horizon_verifier *verifier);

/* A static sentence for a status. Never NULL. */
const char *horizon_status_text(int32_t status);

#ifdef __cplusplus
}
#endif

#endif
