import { createDecipheriv, hash } from 'node:crypto';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { connect, type Run } from '../../stores/postgres/database.ts';

/** Rows that LiteLLM keeps in PostgreSQL, by table; columns that its version does not have are absent. */
export interface LiteLlmRows {
  tables: Readonly<Record<LiteLlmTable, readonly JsonObject[]>>;
  /** Its other tables that have rows, and how many; `rowsMax` means more too. */
  others: readonly { table: string; rows: number }[];
  /** Whether some values could not be decrypted, since no key was given or it was another one. */
  sealed: boolean;
}

/** Tables that are read. */
export const liteLlmTables = [
  'LiteLLM_ProxyModelTable',
  'LiteLLM_CredentialsTable',
  'LiteLLM_Config',
  'LiteLLM_VerificationToken',
  'LiteLLM_TeamTable',
  'LiteLLM_UserTable',
  'LiteLLM_BudgetTable',
  'LiteLLM_OrganizationTable',
  'LiteLLM_ProjectTable',
  'LiteLLM_TeamMembership',
  'LiteLLM_OrganizationMembership',
  'LiteLLM_EndUserTable',
  'LiteLLM_TagTable',
  'LiteLLM_AccessGroupTable',
  'LiteLLM_ModelTable',
  'LiteLLM_DeprecatedVerificationToken',
  'LiteLLM_GuardrailsTable',
  'LiteLLM_PromptTable',
] as const;

export type LiteLlmTable = (typeof liteLlmTables)[number];

/** Beyond it the rest is not read: culvert.yaml declares at most 10,000 keys. */
export const rowsMax = 10_000;

/**
 * Reads a database of LiteLLM's in one snapshot and changes nothing. `url` as LiteLLM has it, with Prisma's `schema`.
 * `saltKey` decrypts credentials: LITELLM_SALT_KEY, else the master key. Throws what PostgreSQL said.
 */
export async function readLiteLlmDatabase(url: string, saltKey: string | null): Promise<LiteLlmRows> {
  const place = new URL(url);
  const schema = place.searchParams.get('schema') ?? 'public';
  // The others are Prisma's own.
  for (const name of [...place.searchParams.keys()]) if (!name.startsWith('ssl')) place.searchParams.delete(name);
  place.searchParams.delete('sslaccept');
  const database = await connect(place.href);
  try {
    const transaction = await database.rest.begin('snapshot');
    try {
      const found = {} as Record<LiteLlmTable, JsonObject[]>;
      for (const table of liteLlmTables) found[table] = await rowsOf(transaction.run, schema, table);
      const others = await otherTables(transaction.run, schema);
      return { ...(await withOpenedSecrets(found, saltKey)), others };
    } finally {
      await transaction.end('rollback');
    }
  } finally {
    await database.close();
  }
}

async function otherTables(run: Run, schema: string): Promise<LiteLlmRows['others']> {
  const known: readonly string[] = liteLlmTables;
  const all = await run<{ table: string }>(
    `SELECT table_name AS "table" FROM information_schema.tables
     WHERE table_schema = $1 AND table_type = 'BASE TABLE' AND table_name LIKE 'LiteLLM\\_%' ORDER BY 1`,
    [schema],
  );
  const others: { table: string; rows: number }[] = [];
  for (const { table } of all.rows.filter((one) => !known.includes(one.table))) {
    const counted = await run<{ rows: string }>(
      `SELECT count(*) AS rows FROM (SELECT 1 FROM ${named(schema, table)} LIMIT ${rowsMax}) AS found`,
    );
    const rows = Number(counted.rows[0]?.rows);
    if (rows > 0) others.push({ table, rows });
  }
  return others;
}

function named(schema: string, table: string): string {
  return `"${schema.replaceAll('"', '""')}"."${table.replaceAll('"', '""')}"`;
}

/** Rows as JSON, so that no column has to be there. */
async function rowsOf(run: Run, schema: string, table: LiteLlmTable): Promise<JsonObject[]> {
  const name = named(schema, table);
  const there = await run<{ found: string | null }>('SELECT to_regclass($1) AS found', [name]);
  if (there.rows[0]?.found == null) return [];
  const oldestFirst = "to_jsonb(t)->>'created_at' NULLS FIRST, to_jsonb(t)::text";
  const { rows } = await run<{ row: JsonObject }>(
    `SELECT to_jsonb(t) AS row FROM ${name} AS t ORDER BY ${oldestFirst} LIMIT ${rowsMax}`,
  );
  return rows.map(({ row }) => row);
}

async function withOpenedSecrets(
  found: Record<LiteLlmTable, JsonObject[]>,
  saltKey: string | null,
): Promise<Omit<LiteLlmRows, 'others'>> {
  const open = await openLiteLlmSecrets(saltKey);
  let sealed = false;
  for (const [table, column] of [
    ['LiteLLM_ProxyModelTable', 'litellm_params'],
    ['LiteLLM_CredentialsTable', 'credential_values'],
  ] as const) {
    for (const row of found[table]) {
      const values = row[column];
      if (!isObject(values)) continue;
      row[column] = Object.fromEntries(
        Object.entries(values).map(([name, value]) => {
          const opened = typeof value === 'string' ? open(value) : value;
          if (opened === null) sealed = true;
          return [name, opened];
        }),
      );
    }
  }
  return { tables: found, sealed };
}

const gcmPrefix = 'v2:gcm:';
const gcmNonceBytes = 12;
const gcmTagBytes = 16;
/** NaCl's secret box: a nonce, then Poly1305's tag, then what it seals. */
const boxNonceBytes = 24;
const boxBytesMin = boxNonceBytes + 16;

/**
 * Decrypts values of LiteLLM's database: NaCl's secret box, or AES-256-GCM behind `v2:gcm:`, in both cases under the
 * SHA-256 of `saltKey`. A text that is no ciphertext comes back as it is, as LiteLLM takes it; null: it is one, and
 * this key does not open it.
 */
async function openLiteLlmSecrets(saltKey: string | null): Promise<(value: string) => string | null> {
  const key = saltKey === null ? null : hash('sha256', saltKey, 'buffer');
  const { xsalsa20poly1305 } = await import('@noble/ciphers/salsa.js');
  return (value) => {
    if (!looksSealed(value)) return value;
    if (key === null) return null;
    try {
      if (value.startsWith(gcmPrefix)) return openGcm(Buffer.from(value.slice(gcmPrefix.length), 'base64url'), key);
      const bytes = Buffer.from(value, 'base64url');
      const opened = xsalsa20poly1305(key, bytes.subarray(0, boxNonceBytes)).decrypt(bytes.subarray(boxNonceBytes));
      return Buffer.from(opened).toString('utf8');
    } catch {
      return null;
    }
  };
}

/** Names of models and addresses are no base64 of such a length: they hold slashes, dots or colons. */
function looksSealed(value: string): boolean {
  if (value.startsWith(gcmPrefix)) return true;
  if (!/^[A-Za-z0-9_+/-]+={0,2}$/.test(value) || value.length % 4 !== 0) return false;
  return Buffer.from(value, 'base64url').length >= boxBytesMin;
}

function openGcm(bytes: Buffer, key: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, gcmNonceBytes));
  decipher.setAuthTag(bytes.subarray(-gcmTagBytes));
  const text = decipher.update(bytes.subarray(gcmNonceBytes, -gcmTagBytes), undefined, 'utf8');
  return text + decipher.final('utf8');
}
