import type { z } from 'zod';
import type { CredentialRow, KeptRow } from '../auth/account-store.ts';
import { openDefinition, providerMarks } from '../auth/kept-secrets.ts';
import { redactPart } from '../config/redact.ts';
import { name } from '../config/scalars.ts';
import { providerSchema } from '../config/schema-providers.ts';
import { invalid } from '../kernel/failure.ts';
import { noQuery } from './fields.ts';
import { credentialsIn, type KeptRecords, type KeptRows, type Planned } from './kept.ts';
import { creation, patching, patchSchema, removal, versionQuery } from './kept-row.ts';
import { refuseMachineTokens } from './machine-tokens.ts';
import type { Members } from './merge-patch.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
import type { AdminParts } from './parts.ts';
import { credentialRow, type NewCredential } from './provider-credentials.ts';
import { shownProvider, providerSchema as shownSchema } from './providers.ts';
import { movedAddresses, refuseUnreadSecrets } from './send-elsewhere.ts';

const newProvider = providerSchema.extend({
  name: name("a provider's name").describe('The name by which targets refer to it.'),
});
export type NewProvider = z.input<typeof newProvider>;

/** `/providers`: made, changed and removed while Culvert runs. */
export function providerSetupOperations(parts: AdminParts, kept: KeptRecords): Operation[] {
  const show = (provider: string) => shownProvider(parts, kept, provider);
  const changeOf = (provider: string, version: number | undefined, actor: string) =>
    ({ kind: 'provider', name: provider, version, actor, show: () => show(provider) }) as const;

  return [
    jsonOperation({
      method: 'POST',
      path: '/providers',
      area: 'providers',
      summary:
        'Creates a provider, as under `providers` in culvert.yaml. Its keys are encrypted and never shown again.',
      query: noQuery,
      body: newProvider,
      status: 201,
      reply: shownSchema,
      async run({ body, written, operator: { name: actor } }) {
        const { name: provider, api_key, credentials = [], ...definition } = written as NewProvider;
        refuseMachineTokens(definition);
        const given = api_key === undefined ? credentials : [{ api_key }, ...credentials];
        if (api_key !== undefined && credentials.length > 0) {
          refuse(invalid('credentials', 'credentials: give either api_key or credentials, not both'));
        }
        await kept.create(
          'provider',
          body.name,
          (rows) => created(parts, rows, provider, definition, given, actor),
          actor,
        );
        return show(body.name);
      },
    }),
    jsonOperation({
      method: 'PATCH',
      path: '/providers/{name}',
      area: 'providers',
      summary: 'Changes the stored settings of a provider. Running requests finish with the earlier ones.',
      query: noQuery,
      body: patchSchema,
      reply: shownSchema,
      async run({ params, body: { version, ...patch }, operator: { name: actor } }) {
        refuseMachineTokens(patch);
        for (const member of ['api_key', 'credentials'] as const) {
          if (member in patch)
            refuse(
              invalid(member, `${member}: add and remove credentials under /providers/${params.name}/credentials`),
            );
        }
        const change = patching(parts, patch, actor, (before, after, rows) =>
          refuseToSendElsewhere(before, after, patch, {
            credentials: credentialsIn(rows, params.name).length > 0,
            model: modelWithBodyFor(parts, rows, params.name),
          }),
        );
        await kept.change(changeOf(params.name, version, actor), change);
        return show(params.name);
      },
    }),
    jsonOperation({
      method: 'DELETE',
      path: '/providers/{name}',
      area: 'providers',
      summary: 'Removes the stored settings of a provider and its credentials. Running requests finish.',
      query: versionQuery,
      body: null,
      reply: shownSchema,
      async run({ params, query, operator: { name: actor } }) {
        const shown = await show(params.name);
        await kept.change(changeOf(params.name, query.version, actor), (row, rows) => {
          const { changes, audit, after } = removal(row, rows);
          const credentials = rows.credentials.filter(({ provider }) => provider !== row.name);
          return {
            changes,
            audit: { ...audit, before: redactPart(writtenOrBare(row)) },
            after: { ...after, credentials },
          };
        });
        return shown;
      },
    }),
  ];
}

function created(
  parts: AdminParts,
  rows: KeptRows,
  provider: string,
  definition: Record<string, unknown>,
  given: readonly NewCredential[],
  actor: string,
): Planned {
  const { changes, audit, after } = creation(parts, rows, { kind: 'provider', name: provider }, definition, actor);
  const credentials: CredentialRow[] = [];
  for (const each of given) credentials.push(credentialRow(parts, provider, each, actor, credentials));
  return {
    changes: [...changes, ...credentials.map((credential) => ({ kind: 'create-credential', credential }) as const)],
    audit: { ...audit, after: { ...(audit.after as object), credentials: credentials.map(({ id }) => id) } },
    after: { ...after, credentials: [...rows.credentials, ...credentials] },
  };
}

/** A removal must also work for an entry that nobody can open any more. */
function writtenOrBare({ definition, sealed }: KeptRow): Record<string, unknown> {
  return sealed === null ? definition : { ...definition, sealed: '(secret)' };
}

/** Secrets that nobody may read must not be sent to an address that the changer chooses either. */
function refuseToSendElsewhere(
  before: Members,
  after: Members,
  patch: Members,
  { credentials, model }: { credentials: boolean; model: string | null },
): void {
  const marks = providerMarks();
  const moved = movedAddresses(marks, before, after);
  const [member] = moved;
  if (member === undefined) return;
  if (credentials) {
    const message = `${member}: the credentials were given for another address. Remove them, change this, and add them again`;
    refuse(invalid(member, message));
  }
  if (model !== null) {
    const message = `${member}: the body of a target of the model ${model} was given for another address. Take the body out, change this, and add it again`;
    refuse(invalid(member, message));
  }
  for (const address of moved) refuseUnreadSecrets(marks, address, before, after, patch);
}

/** A model whose target at this provider has a body, in which anything may be a secret; null: none has. */
function modelWithBodyFor(parts: AdminParts, { kept }: KeptRows, provider: string): string | null {
  const hasBody = ({ targets }: { targets?: unknown }) =>
    Array.isArray(targets) &&
    targets.some((target) => target?.provider === provider && Object.keys(target.body ?? {}).length > 0);
  return (
    kept.find((row) => row.kind === 'model' && hasBody(openDefinition(parts.setup.sealer(), row) ?? row.definition))
      ?.name ?? null
  );
}
