//! Arithmetic in Z_q[X]/(X^256+1): transforms, samplers, codec, run-time selected backends.
