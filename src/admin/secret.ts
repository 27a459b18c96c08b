import { z } from 'zod';
import type { Change } from '../books/auth/account-store.ts';
import { openCredential, openDefinition, sealCredential, sealDefinition } from '../books/auth/entry-secrets.ts';
import type { Records } from './directory.ts';
import type { EntryRecords, EntryRows } from './entries/entry-records.ts';
import { untilWritten } from './entries/until-written.ts';
import { jsonOperation, type Operation } from './operation.ts';
import type { AdminParts } from './parts.ts';

const rotatedSchema = z.object({
  source: z
    .enum(['configuration', 'data folder'])
    .describe(
      'Where the secret comes from. storage.secret is changed in the configuration; the data folder got a new one.',
    ),
  resealed: z
    .int()
    .describe('Number of credentials, definitions and logins at MCP servers that the current secret sealed.'),
  left: z.array(z.string()).describe('Names that no secret known here opens, such as provider acme or acme#k1.'),
  earlier: z.enum(['remembered', 'forgotten', 'none']).describe('Whether earlier secrets still open what they sealed.'),
});

/** `/secret/rotate`: seals again what is sealed for a long time. */
export function secretOperations(parts: AdminParts, records: Records, entryRecords: EntryRecords): Operation[] {
  const { secrets } = parts.setup;
  return [
    jsonOperation({
      method: 'POST',
      path: '/secret/rotate',
      area: 'settings',
      summary:
        'Seals stored credentials with the current storage.secret, or with a new secret if the data folder has its own. Earlier secrets open what they sealed until they are forgotten.',
      body: z
        .strictObject({
          forget: z
            .boolean()
            .default(false)
            .describe(
              'Earlier secrets of the data folder are deleted. What they sealed is lost: responses, conversations, files, batches, vector stores, kept bodies, replies kept for Idempotency-Key, links of pictures and headers of crawls.',
            ),
        })
        .prefault({}),
      reply: rotatedSchema,
      async run({ body, operator }) {
        if (secrets.source === 'data folder') secrets.renew();
        const logins = await parts.mcpGrants.reseal();
        return untilWritten('providers', async () => {
          const { changes, left: leftOfRows } = resealed(parts, await entryRecords.rows());
          const left = [...leftOfRows, ...logins.left.map((name) => `login ${name}`)];
          const count = changes.length + logins.resealed;
          const done = await records.apply(changes, {
            actor: operator.name,
            action: 'secret.rotate',
            subject: secrets.source,
            before: null,
            after: { resealed: count, left, forget: body.forget },
          });
          if (done !== 'done') return null;
          if (body.forget && left.length === 0 && secrets.source === 'data folder') secrets.forgetEarlier();
          const earlier = secrets.earlier() > 0 ? 'remembered' : body.forget ? 'forgotten' : 'none';
          return { source: secrets.source, resealed: count, left, earlier } as const;
        });
      },
    }),
  ];
}

function resealed(
  { setup }: AdminParts,
  { entries: entryRecords, credentials }: EntryRows,
): { changes: Change[]; left: string[] } {
  const sealer = setup.sealer();
  const changes: Change[] = [];
  const left: string[] = [];
  for (const row of entryRecords) {
    if (row.sealed === null) continue;
    const definition = openDefinition(sealer, row);
    if (definition === null) left.push(`${row.kind} ${row.name}`);
    else {
      const next = { ...row, ...sealDefinition(sealer, row, definition) };
      changes.push({ kind: 'replace-kept', row: next, was: row.version });
    }
  }
  for (const row of credentials) {
    const { provider, id, sealed: was } = row;
    const secret = openCredential(sealer, row);
    if (secret === null) left.push(`${provider}#${id}`);
    else changes.push({ kind: 'reseal-credential', provider, id, was, sealed: sealCredential(sealer, row, secret) });
  }
  return { changes, left };
}
