import { z } from 'zod';
import type { Change } from '../books/auth/account-store.ts';
import { openCredential, openDefinition, sealCredential, sealDefinition } from '../books/auth/entry-secrets.ts';
import { refuseWithoutRoom } from '../kernel/file-store.ts';
import type { Records } from './directory.ts';
import type { EntryRecords, EntryRows } from './entries/entry-records.ts';
import { untilWritten } from './entries/until-written.ts';
import { jsonOperation, type Operation, refuse } from './operation.ts';
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

const place = z
  .strictObject({ part: z.int().min(0), behind: z.array(z.union([z.string(), z.int()])).nullable() })
  .describe('A place in what is sealed.');

/** `/secret`: seals again what is sealed for a long time. */
export function secretOperations(parts: AdminParts, records: Records, entryRecords: EntryRecords): Operation[] {
  const again: Again = async (actor, action, forget) => {
    const logins = await parts.mcpGrants.reseal();
    return untilWritten('providers', async () => {
      const { changes, left: leftOfRows } = resealed(parts, await entryRecords.rows());
      const left = [...leftOfRows, ...logins.left.map((name) => `login ${name}`)];
      const count = changes.length + logins.resealed;
      const after = { resealed: count, left, forget };
      const subject = parts.setup.secrets.source;
      const done = await records.apply(changes, { actor, action, subject, before: null, after });
      return done === 'done' ? { resealed: count, left } : null;
    });
  };
  return [rotation(parts, again), pass(parts, again)];
}

type Again = (actor: string, action: string, forget: boolean) => Promise<{ resealed: number; left: string[] }>;

function rotation({ setup: { secrets } }: AdminParts, again: Again): Operation {
  return jsonOperation({
    route: 'POST /secret/rotate',
    area: 'settings',
    summary:
      'Seals stored credentials with the current storage.secret, or with a new secret if the data folder has its own. Earlier secrets open what they sealed until they are forgotten. `/secret/reseal` seals all the rest.',
    body: z
      .strictObject({
        forget: z
          .boolean()
          .default(false)
          .describe(
            'Earlier secrets of the data folder are deleted. What `/secret/reseal` has not sealed anew is lost: responses, conversations, files, batches, vector stores, kept bodies, replies kept for Idempotency-Key, links of pictures and headers of crawls.',
          ),
        renew: z.boolean().default(true).describe('False: the data folder keeps its secret.'),
        secret: z
          .string()
          .optional()
          .describe(
            '`secret` of `/secret/reseal`. 409, and nothing is forgotten, if another one is current since then.',
          ),
      })
      .prefault({}),
    reply: rotatedSchema,
    async run({ body, operator }) {
      const isOfFolder = secrets.source === 'data folder';
      if (isOfFolder && body.renew) written(() => secrets.renew());
      const { resealed, left } = await again(operator.name, 'secret.rotate', body.forget);
      if (body.secret !== undefined && body.secret !== secrets.name())
        refuse({ kind: 'conflict', message: 'The secret was renewed meanwhile: seal everything anew first.' });
      if (body.forget && left.length === 0 && isOfFolder) written(() => secrets.forgetEarlier());
      const earlier = secrets.earlier() > 0 ? 'remembered' : body.forget ? 'forgotten' : 'none';
      return { source: secrets.source, resealed, left, earlier } as const;
    },
  });
}

function written(change: () => void): void {
  try {
    change();
  } catch (error) {
    const why = 'the disk is full, read-only or failed, or the file belongs to another user';
    refuseWithoutRoom(error, `The secret of the data folder stays as it is: ${why}.`);
  }
}

function pass({ sealedStep, setup: { secrets } }: AdminParts, again: Again): Operation {
  return jsonOperation({
    route: 'POST /secret/reseal',
    area: 'settings',
    summary:
      'Seals by the current secret what an earlier one had sealed, for about half a second. Call it with `next` of its reply until that is null. Requests go on, and a pass that was broken off may begin anew at any time.',
    body: z
      .strictObject({
        from: place.nullable().default(null).describe('`next` of the last reply.'),
        mode: z.enum(['seal', 'look']).default('seal').describe('look: only counts.'),
      })
      .prefault({}),
    reply: z.object({
      kinds: z
        .array(z.object({ kind: z.string(), current: z.int(), earlier: z.int(), lost: z.int() }))
        .describe('How many values of each kind the current secret had sealed, earlier ones, or none known here.'),
      secret: z.string().describe('Names the current secret, and does not tell it.'),
      next: place.nullable().describe('Where the next call goes on; null: this one has seen the last.'),
    }),
    async run({ body: { from, mode }, operator }) {
      if (from === null && mode === 'seal') await again(operator.name, 'secret.reseal', false);
      // Before the step: it is to name the secret that all of it has been sealed with.
      const secret = secrets.name();
      return { ...(await sealedStep(mode, from ?? { part: 0, behind: null })), secret };
    },
  });
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
