import type { z } from 'zod';
import type { CredentialRow } from '../../books/auth/account-store.ts';
import { sealCredential } from '../../books/auth/entry-secrets.ts';
import { credentialSchema } from '../../config/schema/schema-providers.ts';
import { invalid } from '../../kernel/failure.ts';
import { randomBase36 } from '../../kernel/ids.ts';
import { jsonOperation, type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { credentialsIn, type EntryRecords, notStored, rowIn, withRow, writtenOf } from './entry-records.ts';
import { type Draft, draftReply, testedDraft } from './provider-drafts.ts';
import { shownProvider, providerSchema as shownSchema } from './provider-shown.ts';
import { stamp, versionQuery } from './stored-row.ts';

export type NewCredential = z.input<typeof credentialSchema>;

/** `/providers/{name}/credentials`: given once, sealed, and shown nowhere again. */
export function providerCredentialOperations(parts: AdminParts, entryRecords: EntryRecords): Operation[] {
  async function changed(name: string, version: number | undefined, actor: string, plan: RowPlan) {
    const show = () => shownProvider(parts, entryRecords, name);
    await entryRecords.change({ kind: 'provider', name, version, actor, show }, plan);
    return show();
  }

  return [
    jsonOperation({
      route: 'POST /providers/{name}/credentials',
      area: 'providers',
      summary: 'Adds a credential to a stored provider. It is encrypted and never shown again.',
      body: credentialSchema,
      status: 201,
      reply: shownSchema,
      run: ({ params, written, operator: { name: actor } }) =>
        changed(params.name, undefined, actor, addition(parts, written as NewCredential, actor)),
    }),
    jsonOperation({
      route: 'POST /providers/{name}/credentials/test',
      area: 'providers',
      summary: 'Tests a credential with the settings of a stored provider, its secret headers too. It stores nothing.',
      body: credentialSchema,
      reply: draftReply,
      async run({ params: { name }, written }) {
        const row = rowIn(await entryRecords.rows(), 'provider', name) ?? refuse(notStored(parts, 'provider', name));
        const { api_key } = written as NewCredential;
        return testedDraft(parts, { ...(writtenOf(parts, row) as Draft), name, api_key });
      },
    }),
    jsonOperation({
      route: 'DELETE /providers/{name}/credentials/{id}',
      area: 'providers',
      summary: 'Removes a credential of a stored provider. Running requests finish.',
      query: versionQuery,
      reply: shownSchema,
      run: ({ params, query, operator: { name: actor } }) =>
        changed(params.name, query.version, actor, removal(parts, params.id, actor)),
    }),
  ];
}

type RowPlan = Parameters<EntryRecords['change']>[1];

function addition(parts: AdminParts, given: NewCredential, actor: string): RowPlan {
  return (row, rows) => {
    const credential = credentialRow(parts, row.name, given, actor, credentialsIn(rows, row.name));
    const next = { ...row, ...stamp(parts, row, actor) };
    const subject = `${row.name}#${credential.id}`;
    return {
      changes: [
        { kind: 'replace-kept', row: next, was: row.version },
        { kind: 'create-credential', credential },
      ],
      audit: { action: 'credential.create', subject, before: null, after: factsOf(credential) },
      after: { ...withRow(rows, next), credentials: [...rows.credentials, credential] },
    };
  };
}

function removal(parts: AdminParts, id: string, actor: string): RowPlan {
  return (row, rows) => {
    const credential =
      credentialsIn(rows, row.name).find((each) => each.id === id) ??
      refuse({ kind: 'not-found', message: `The provider '${row.name}' has no credential '${id.slice(0, 64)}'.` });
    return {
      changes: [
        { kind: 'replace-kept', row: { ...row, ...stamp(parts, row, actor) }, was: row.version },
        { kind: 'delete-credential', provider: row.name, id },
      ],
      audit: { action: 'credential.delete', subject: `${row.name}#${id}`, before: factsOf(credential), after: null },
      after: null,
    };
  };
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
