import type { z } from 'zod';
import type { CredentialRow } from '../auth/account-store.ts';
import { sealCredential } from '../auth/kept-secrets.ts';
import { credentialSchema } from '../config/schema-providers.ts';
import { invalid } from '../kernel/failure.ts';
import { randomBase36 } from '../kernel/ids.ts';
import { noQuery } from './fields.ts';
import { credentialsIn, type KeptRecords, withRow } from './kept.ts';
import { stamp, versionQuery } from './kept-row.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { shownProvider, providerSchema as shownSchema } from './provider-shown.ts';

export type NewCredential = z.input<typeof credentialSchema>;

/** `/providers/{name}/credentials`: given once, sealed, and shown nowhere again. */
export function providerCredentialOperations(parts: AdminParts, kept: KeptRecords): Operation[] {
  const show = (provider: string) => shownProvider(parts, kept, provider);
  const changeOf = (provider: string, version: number | undefined, actor: string) =>
    ({ kind: 'provider', name: provider, version, actor, show: () => show(provider) }) as const;

  return [
    jsonOperation({
      method: 'POST',
      path: '/providers/{name}/credentials',
      area: 'providers',
      summary: 'Adds a credential to a stored provider. It is encrypted and never shown again.',
      query: noQuery,
      body: credentialSchema,
      status: 201,
      reply: shownSchema,
      async run({ params, written, operator: { name: actor } }) {
        await kept.change(changeOf(params.name, undefined, actor), (row, rows) => {
          const credential = credentialRow(
            parts,
            row.name,
            written as NewCredential,
            actor,
            credentialsIn(rows, row.name),
          );
          const next = { ...row, ...stamp(parts, row, actor) };
          return {
            changes: [
              { kind: 'replace-kept', row: next, was: row.version },
              { kind: 'create-credential', credential },
            ],
            audit: {
              action: 'credential.create',
              subject: `${row.name}#${credential.id}`,
              before: null,
              after: factsOf(credential),
            },
            after: { ...withRow(rows, next), credentials: [...rows.credentials, credential] },
          };
        });
        return show(params.name);
      },
    }),
    jsonOperation({
      method: 'DELETE',
      path: '/providers/{name}/credentials/{id}',
      area: 'providers',
      summary: 'Removes a credential of a stored provider. Running requests finish.',
      query: versionQuery,
      body: null,
      reply: shownSchema,
      async run({ params, query, operator: { name: actor } }) {
        await kept.change(changeOf(params.name, query.version, actor), (row, rows) => {
          const credential = credentialsIn(rows, row.name).find(({ id }) => id === params.id);
          if (credential === undefined) {
            const message = `The provider '${row.name}' has no credential '${params.id.slice(0, 64)}'.`;
            return refuse({ kind: 'not-found', message });
          }
          return {
            changes: [
              { kind: 'replace-kept', row: { ...row, ...stamp(parts, row, actor) }, was: row.version },
              { kind: 'delete-credential', provider: row.name, id: credential.id },
            ],
            audit: {
              action: 'credential.delete',
              subject: `${row.name}#${credential.id}`,
              before: factsOf(credential),
              after: null,
            },
            after: null,
          };
        });
        return show(params.name);
      },
    }),
  ];
}

const idChars = 6;
/** Below it, its last characters would tell too much of a secret. */
const hintedCharsMin = 16;

/** Refuses an id that one of the `others` has. */
export function credentialRow(
  { clock, setup }: AdminParts,
  provider: string,
  { api_key, id, weight, rpm }: NewCredential,
  actor: string,
  others: readonly CredentialRow[],
): CredentialRow {
  const secret = api_key.trim();
  if (secret === '') refuse(invalid('api_key', 'api_key: expected a secret'));
  const known = { provider, id: id ?? `k${randomBase36(idChars)}` };
  if (others.some((other) => other.id === known.id)) {
    refuse({ kind: 'conflict', message: `The provider '${provider}' has the credential '${known.id}' already.` });
  }
  return {
    ...known,
    sealed: sealCredential(setup.sealer(), known, secret),
    hint: secret.length < hintedCharsMin ? '…' : `…${secret.slice(-4)}`,
    weight: weight ?? 1,
    rpm: rpm ?? null,
    createdMs: clock.wallMs(),
    createdBy: actor,
  };
}

function factsOf({ hint, weight, rpm }: CredentialRow): Record<string, unknown> {
  return { hint, weight, rpm };
}
