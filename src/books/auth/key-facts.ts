import type { InvitationRow, KeyRow, OperatorRow } from './account-store.ts';

/** A key for the audit trail: no secret, no hash of one. */
export function keyFacts(key: KeyRow): Record<string, unknown> {
  return {
    id: key.id,
    account: key.account,
    name: key.name,
    tenant: key.tenant,
    expires: isoOrNull(key.expiresMs),
    models: key.models,
    ips: key.ips,
    limits: key.limits,
    guards: key.guards,
    tags: key.tags ?? [],
    secrets: key.secrets.map(({ untilMs }) => ({ until: isoOrNull(untilMs) })),
    revoked_at: isoOrNull(key.revokedMs),
  };
}

/** An operator for the audit trail: no hash of its key. */
export function operatorFacts({ name, role, accounts, prefix, issuer, subject }: OperatorRow): Record<string, unknown> {
  return { name, role, accounts, prefix, issuer, subject };
}

/** An invitation for the audit trail: no hash of its token. */
export function invitationFacts({ id, role, accounts, name, email, endsMs }: InvitationRow): Record<string, unknown> {
  return { id, role, accounts, name, email, expires: isoOrNull(endsMs) };
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
