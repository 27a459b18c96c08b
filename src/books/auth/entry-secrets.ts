import { type DefinitionMarks, definitionMarks } from '../../config/marked-members.ts';
import { fragmentKey, type StoredFragment } from '../../config/merge-stored.ts';
import { agentSchema } from '../../config/schema/schema-agents.ts';
import { guardSchema } from '../../config/schema/schema-guards.ts';
import { mcpUrlServerSchema } from '../../config/schema/schema-mcp.ts';
import { modelSchema } from '../../config/schema/schema-models.ts';
import { providerSchema } from '../../config/schema/schema-providers.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { CredentialRow, EntryRow, Stored } from './account-store.ts';

const schemas = {
  provider: providerSchema,
  model: modelSchema,
  mcp: mcpUrlServerSchema,
  agent: agentSchema,
  guard: guardSchema,
};
const known: { [Kind in keyof typeof schemas]?: DefinitionMarks } = {};

/** Members that the schema marks in the definition of a stored entry of this kind. */
export function marksOf(kind: keyof typeof schemas): DefinitionMarks {
  known[kind] ??= definitionMarks(schemas[kind]);
  return known[kind];
}

/** Prompts and rules for routes have no secrets. */
const nothing: ReadonlySet<string> = new Set();

function secretMembersOf(kind: EntryRow['kind'], definition: unknown): ReadonlySet<string> {
  if (kind === 'prompt' || kind === 'route') return nothing;
  return kind === 'model' ? marksOf(kind).membersWithBody(definition) : marksOf(kind).secretMembers;
}

/** A definition for the store: possible secrets are taken out and sealed. It has no `credentials` and no `api_key`. */
export function sealDefinition(
  sealer: Sealer,
  row: Pick<EntryRow, 'kind' | 'name'>,
  definition: Readonly<Record<string, unknown>>,
): Pick<EntryRow, 'definition' | 'sealed'> {
  const secretMembers = secretMembersOf(row.kind, definition);
  const isSecret = (member: string) => secretMembers.has(member);
  const plain = Object.entries(definition).filter(([member]) => !isSecret(member));
  const secret = Object.entries(definition).filter(([member]) => isSecret(member));
  return {
    definition: Object.fromEntries(plain),
    sealed: secret.length === 0 ? null : seal(sealer, JSON.stringify(Object.fromEntries(secret)), fragmentKey(row)),
  };
}

/** The definition as it was written; null when its secrets were sealed with another secret. */
export function openDefinition(sealer: Sealer, row: EntryRow): Record<string, unknown> | null {
  if (row.sealed === null) return { ...row.definition };
  const opened = open(sealer, row.sealed, fragmentKey(row));
  return opened === null ? null : { ...row.definition, ...(JSON.parse(opened) as Record<string, unknown>) };
}

export function sealCredential(sealer: Sealer, row: Pick<CredentialRow, 'provider' | 'id'>, secret: string): string {
  return seal(sealer, secret, contextOf(row));
}

/** Null where it was sealed under another secret. */
export function openCredential(sealer: Sealer, row: CredentialRow): string | null {
  return open(sealer, row.sealed, contextOf(row));
}

/** The stored settings, in the form of the configuration file. */
export function openEntries(sealer: Sealer, { entries, credentials }: Pick<Stored, 'entries' | 'credentials'>) {
  const fragments: StoredFragment[] = [];
  const troubles = new Map<string, string>();
  for (const row of entries) {
    const { kind, name } = row;
    const definition = openDefinition(sealer, row);
    if (definition === null) {
      troubles.set(fragmentKey(row), `what it keeps sealed, such as its headers, ${cannot}`);
      continue;
    }
    const providerCredentials = kind === 'provider' ? credentials.filter(({ provider }) => provider === name) : [];
    const secrets = providerCredentials.map((credential) => ({
      credential,
      secret: openCredential(sealer, credential),
    }));
    const lost = secrets.flatMap(({ credential, secret }) => (secret === null ? [credential.id] : []));
    if (lost.length > 0) troubles.set(fragmentKey(row), `credential ${lost.join(', ')} ${cannot}`);
    if (lost.length > 0 && lost.length === providerCredentials.length) continue;
    const opened = secrets.flatMap(({ credential: { id, weight, rpm }, secret }) =>
      secret === null ? [] : [{ id, api_key: secret, weight, ...(rpm !== null && { rpm }) }],
    );
    fragments.push({
      kind,
      name,
      definition: opened.length === 0 ? definition : { ...definition, credentials: opened },
    });
  }
  return {
    /** Credentials that can be used, as far as this process can say. */
    fragments,
    /** Secrets that cannot be opened here, by `fragmentKey`. Other credentials of their provider are used. */
    troubles,
  };
}

const cannot =
  'cannot be opened here, because another storage.secret than this server has sealed it: add it to storage.earlier_secrets';

/** Sealed bytes open in their own place only. */
function contextOf({ provider, id }: Pick<CredentialRow, 'provider' | 'id'>): string {
  return `credential ${provider} ${id}`;
}

function seal(sealer: Sealer, text: string, context: string): string {
  return sealer.seal(Buffer.from(text), context).toString('base64');
}

function open(sealer: Sealer, sealed: string, context: string): string | null {
  return sealer.open(Buffer.from(sealed, 'base64'), context)?.toString() ?? null;
}
