import { z } from 'zod';
import type { CredentialRow, EntryRow } from '../../books/auth/account-store.ts';
import { marksOf, openDefinition } from '../../books/auth/entry-secrets.ts';
import { redactPart } from '../../config/redact.ts';
import { name } from '../../config/scalars.ts';
import { providerSchema } from '../../config/schema/schema-providers.ts';
import { lookAtProvider } from '../../inference/models/live-look.ts';
import { invalid } from '../../kernel/failure.ts';
import { type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import { credentialsIn, type EntryRecords, type EntryRows, noEntry, type Planned } from './entry-records.ts';
import { refuseMachineTokens } from './machine-tokens.ts';
import type { Members } from './merge-patch.ts';
import { credentialRow, type NewCredential } from './provider-credentials.ts';
import { enginePrefix, shownProvider, shownProviders, providerSchema as shownSchema } from './provider-shown.ts';
import { movedAddresses, refuseUnreadSecrets } from './send-elsewhere.ts';
import { listByName } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';
import { creation, removal } from './stored-row.ts';

const newProvider = providerSchema.extend({
  name: name("a provider's name").describe('The name by which targets refer to it.'),
});
type NewProvider = z.input<typeof newProvider>;

const testSchema = z.object({
  ok: z.boolean(),
  data: z.array(
    z.object({
      credential: z.string(),
      verdict: z.enum(['ok', 'not listed', 'bad credential', 'unreachable', 'failed']),
      message: z.string(),
      models: z.int().describe('How many models it lists.'),
      ms: z.int(),
    }),
  ),
});

type Tested = z.input<typeof testSchema>;

/** `/providers`: the present state of upstreams, and the stored providers. */
export function providerOperations(parts: AdminParts, entryRecords: EntryRecords): Operation[] {
  const entries = entryOperations({ path: '/providers', named: 'name', area: 'providers', reply: shownSchema });
  const show = (provider: string) => shownProvider(parts, entryRecords, provider);
  return [
    listByName<typeof shownSchema>(
      entries,
      'Lists providers and search engines with the live health of their credentials.',
      async () => shownProviders(parts, await entryRecords.rows()),
      ({ name, type, base_url }) => [name, type, base_url],
    ),
    entries.show({ summary: 'Returns one provider or search engine.', run: show }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'provider',
      entries,
      show,
      add: {
        summary:
          'Creates a provider, as under `providers` in culvert.yaml. Its keys are encrypted and never shown again.',
        body: newProvider,
        planOf: (given) => planOfNew(parts, given),
      },
      change: {
        summary: 'Changes the stored settings of a provider. Running requests finish with the earlier ones.',
        guardOf: (patch, provider) => guardOf(parts, patch, provider),
      },
      remove: {
        summary: 'Removes the stored settings of a provider and its credentials. Running requests finish.',
        plan(row, rows) {
          const { changes, audit, after } = removal(row, rows);
          const credentials = rows.credentials.filter(({ provider }) => provider !== row.name);
          return {
            changes,
            audit: { ...audit, before: redactPart(writtenOrBare(row)) },
            after: { ...after, credentials },
          };
        },
      },
    }),
    entries.act('test', {
      summary:
        'Asks a provider for its list of models now, once with each credential; this costs no tokens. A search engine gets one query, which costs one search of its plan.',
      reply: testSchema,
      run: (name) => (name.startsWith(enginePrefix) ? testedEngine(parts, name) : testedProvider(parts, name)),
    }),
  ];
}

async function testedProvider({ snapshots, transport }: AdminParts, name: string): Promise<Tested> {
  const { providers } = snapshots.current;
  const provider = providers.get(name) ?? refuse(noEntry('provider', name, [...providers.keys()]));
  const looks = await lookAtProvider(transport, provider.connection);
  return {
    ok: looks.every(({ verdict }) => verdict === 'ok' || verdict === 'not listed'),
    data: looks.map(({ provider: _provider, listed: _listed, ...look }) => look),
  };
}

async function testedEngine({ engines }: AdminParts, name: string): Promise<Tested> {
  const look = await engines.look(name.slice(enginePrefix.length));
  if (look === null) return refuse(noEntry('provider', name));
  const { engine, verdict, message, ms } = look;
  return { ok: verdict === 'ok', data: [{ credential: `${engine}#0`, verdict, message, models: 0, ms }] };
}

/** Credentials are rows, and no part of the definition. */
function planOfNew(parts: AdminParts, given: Members): (rows: EntryRows, name: string, actor: string) => Planned {
  const { api_key, credentials = [], ...definition } = given as Omit<NewProvider, 'name'>;
  refuseMachineTokens(definition);
  if (api_key !== undefined && credentials.length > 0) {
    refuse(invalid('credentials', 'credentials: give either api_key or credentials, not both'));
  }
  const all = api_key === undefined ? credentials : [{ api_key }, ...credentials];
  return (rows, name, actor) => created(parts, rows, name, definition, all, actor);
}

function guardOf(parts: AdminParts, patch: Members, provider: string) {
  refuseMachineTokens(patch);
  for (const member of ['api_key', 'credentials']) {
    if (member in patch)
      refuse(invalid(member, `${member}: add and remove credentials under /providers/${provider}/credentials`));
  }
  return (before: Members, after: Members, rows: EntryRows) =>
    refuseToSendElsewhere(before, after, patch, {
      credentials: credentialsIn(rows, provider).length > 0,
      model: modelWithBodyFor(parts, rows, provider),
    });
}

function created(
  parts: AdminParts,
  rows: EntryRows,
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
function writtenOrBare({ definition, sealed }: EntryRow): Record<string, unknown> {
  return sealed === null ? definition : { ...definition, sealed: '(secret)' };
}

/** Secrets that nobody may read must not be sent to an address that the changer chooses either. */
function refuseToSendElsewhere(
  before: Members,
  after: Members,
  patch: Members,
  { credentials, model }: { credentials: boolean; model: string | null },
): void {
  const marks = marksOf('provider');
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
function modelWithBodyFor(parts: AdminParts, { entries: entryRecords }: EntryRows, provider: string): string | null {
  const hasBody = ({ targets }: { targets?: unknown }) =>
    Array.isArray(targets) &&
    targets.some((target) => target?.provider === provider && Object.keys(target.body ?? {}).length > 0);
  return (
    entryRecords.find(
      (row) => row.kind === 'model' && hasBody(openDefinition(parts.setup.sealer(), row) ?? row.definition),
    )?.name ?? null
  );
}
