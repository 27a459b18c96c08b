import tls from 'node:tls';

// Made for tests alone, self-signed for 127.0.0.1; good for 100 years and for nothing else.
export const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgusrlaDpyc2/XjTD/
U4XQ6Rnop5J7V3v3h4EfD0lS3IahRANCAATAHc5hlnbYSxqr3AjeqnOysT9+8oeN
Mq+Va8De+kz5/jR88mc368bBIiqrHdxQ7+LfDRlSj9phFPpTrKSkEJE0
-----END PRIVATE KEY-----`;
export const cert = `-----BEGIN CERTIFICATE-----
MIIBkDCCATagAwIBAgIUUCfWk4rOdXZYm+vUPgEmFFpt4rcwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMDEyMTkwN1oYDzIxMjYxMDI3
MTIxOTA3WjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATAHc5hlnbYSxqr3AjeqnOysT9+8oeNMq+Va8De+kz5/jR88mc368bB
IiqrHdxQ7+LfDRlSj9phFPpTrKSkEJE0o2QwYjAdBgNVHQ4EFgQUyfVw6VOpybtz
YZdKYf1b4YiSFIkwHwYDVR0jBBgwFoAUyfVw6VOpybtzYZdKYf1b4YiSFIkwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUC
IQCHPmxxuCj20b3hmo4QYrRNfdQK+g5sF9+K834v4C4hSgIgEoRg0yx/6aIfmAuc
+6OHtQUWCUWHmbcSJLBXjm+GpAs=
-----END CERTIFICATE-----`;

let trusted = false;

/** Whether this process believes the certificate, so that gateways with processes of their own are to believe it. */
export function trustsLoopbackCertificate(): boolean {
  return trusted;
}

/** Has this process believe the certificate, and the gateways that it starts from now on. */
export function trustLoopbackCertificate(): void {
  trusted = true;
  tls.setDefaultCACertificates([...tls.getCACertificates(), cert]);
}

/** The same address, and over since 2020. */
export const expired = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgW3FndcgSODhZSBgr
xSfnL2ftX+lXBYrt9HlOQ5a77+ChRANCAAQg9q0s2NUWhyiqYHJaVXyTNhCPgS3c
N6IxXiJUI4EfeTlkRvpvExfd4S3ulfzwFb4JX91JF8u/xQbscZ4VIYS6
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBjTCCATSgAwIBAgIUBPXGn7fO1onr8DP1yvdoSgXbY+4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMB4XDTIwMDEwMTAwMDAwMFoXDTIwMDEzMTAw
MDAwMFowFDESMBAGA1UEAwwJMTI3LjAuMC4xMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEIPatLNjVFocoqmByWlV8kzYQj4Et3DeiMV4iVCOBH3k5ZEb6bxMX3eEt
7pX88BW+CV/dSRfLv8UG7HGeFSGEuqNkMGIwHQYDVR0OBBYEFDedb44XTKh09SjJ
7WcO+Bidk6/aMB8GA1UdIwQYMBaAFDedb44XTKh09SjJ7WcO+Bidk6/aMA8GA1Ud
EwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNHADBEAiBp
FYbPrO7Yve3tHBRhWyVEeNMHjTDBBPBihK9xZjYe/QIgRlIZ33nDWYpi18b33BxE
iKMxTEKzVF3iD30OmjAZS6M=
-----END CERTIFICATE-----`,
};
