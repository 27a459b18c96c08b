import { z } from 'zod';
import { builtProviders } from '../../config/environment-providers.ts';
import { name } from '../../config/scalars.ts';
import { providerSchema } from '../../config/schema/schema-providers.ts';
import { catalog } from '../../formats/providers/catalog.ts';
import type { Provider } from '../../formats/providers/provider.ts';
import { connectProviders } from '../../inference/models/connections.ts';
import { lookAtProvider } from '../../inference/models/live-look.ts';
import { jsonOperation, type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { uncallable } from './entry-records.ts';
import { refuseMachineTokens } from './machine-tokens.ts';

const modelSchema = z.object({
  id: z.string(),
  type: z.string().describe('As its list says, otherwise a guess from its name.'),
});

const typesSchema = z.object({
  data: z.array(
    z.object({
      type: z.string(),
      title: z.string(),
      base_url: z.string().nullable().describe('Address of the service; null: you must give one.'),
      needs_key: z.boolean(),
      env: z.string().nullable().describe('The environment variable that holds its key by convention.'),
      local: z.boolean().describe("A server on one's own machine."),
      serves: z.array(z.enum(['chat', 'embedding', 'speech', 'transcription', 'image'])),
    }),
  ),
});
export type ProviderTypesReply = z.output<typeof typesSchema>;
type ServedKind = ProviderTypesReply['data'][number]['serves'][number];

const foundSchema = z.object({
  looked: z.boolean().describe('false: the configuration says `autodetect: off`.'),
  data: z.array(
    z.object({
      type: z.string(),
      title: z.string(),
      base_url: z.string(),
      use: z
        .enum(['provider', 'search', 'listed'])
        .describe('listed: nothing here can use it, or not in its present state.'),
      note: z.string().nullable().describe('What must be done before it can be used.'),
      models: z.array(modelSchema),
      provider: z.string().nullable().describe('The provider that uses it already.'),
    }),
  ),
});
export type FoundServersReply = z.output<typeof foundSchema>;

const draftSchema = providerSchema.extend({ name: name("a provider's name").optional() });

export type Draft = z.input<typeof draftSchema>;

export const draftReply = z.object({
  ok: z.boolean(),
  verdict: z
    .enum(['ok', 'not listed', 'bad credential', 'unreachable', 'failed'])
    .describe('Verdict of the first credential that failed.'),
  message: z.string().describe('What the provider answered; empty when all is well.'),
  ms: z.int(),
  models: z.array(modelSchema).describe('Models that it lists, at most 2,000.'),
});
export type DraftReply = z.output<typeof draftReply>;

/** `/providers` before anything is stored: the types that exist, what was found here, and a test of a draft. */
export function providerDraftOperations(parts: AdminParts): Operation[] {
  return [
    jsonOperation({
      route: 'GET /providers/types',
      area: 'providers',
      summary: 'Lists the types of providers that Culvert knows, in the order in which a page offers them.',
      reply: typesSchema,
      run: () => ({ data: catalog.map(shownType) }),
    }),
    jsonOperation({
      route: 'GET /providers/found',
      area: 'providers',
      summary: 'Lists model servers and search engines that answer on this machine right now, and what they serve.',
      reply: foundSchema,
      run: () => foundServers(parts),
    }),
    jsonOperation({
      route: 'POST /providers/test',
      area: 'providers',
      summary:
        'Tests a provider before it is stored: asks for its list of models with the given key. It stores nothing.',
      body: draftSchema,
      reply: draftReply,
      run: ({ written }) => testedDraft(parts, written as Draft),
    }),
  ];
}

function shownType(provider: Provider): z.input<typeof typesSchema>['data'][number] {
  return {
    type: provider.id,
    title: provider.title,
    base_url: provider.baseUrl,
    needs_key: provider.auth !== 'none' && provider.tokens === undefined && !provider.local,
    env: provider.envKey,
    local: provider.local,
    serves: servedBy(provider),
  };
}

async function foundServers({ setup, snapshots }: AdminParts): Promise<z.input<typeof foundSchema>> {
  const found = await setup.found();
  const used = new Map(
    [...snapshots.current.providers.values()].map(({ connection }) => [placeOf(connection.origin), connection.name]),
  );
  return {
    looked: found !== null,
    data: (found ?? []).map(({ type, title, use, url, note, models }) => ({
      type,
      title,
      base_url: url,
      use,
      note,
      models: models.map(({ id, type: kind }) => ({ id, type: kind })),
      provider: used.get(placeOf(url)) ?? null,
    })),
  };
}

export async function testedDraft(
  { transport }: AdminParts,
  { name: draft = 'draft', ...definition }: Draft,
): Promise<z.input<typeof draftReply>> {
  refuseMachineTokens(definition);
  const { connected, problems } = connectProviders(builtProviders({ [draft]: definition }), null);
  const made = connected.get(draft) ?? refuse(uncallable(problems[0] ?? 'it cannot be called'));
  const looks = await lookAtProvider(transport, made.connection);
  const failed = looks.find(({ verdict }) => verdict !== 'ok' && verdict !== 'not listed');
  const reported = failed ?? looks[0]!;
  return {
    ok: failed === undefined,
    verdict: reported.verdict,
    message: reported.message,
    ms: reported.ms,
    models: looks[0]!.listed.map(({ id, type }) => ({ id, type })),
  };
}

function placeOf(url: string): string {
  return new URL(url).origin.replace('localhost', '127.0.0.1');
}

function servedBy({ paths, chatPath, embeds, speech, transcription, images }: Provider): ServedKind[] {
  const kinds = {
    chat: paths.chat !== null || chatPath !== undefined,
    embedding: embeds !== undefined,
    speech: speech !== undefined,
    transcription: transcription !== undefined,
    image: images !== undefined,
  };
  return (Object.keys(kinds) as ServedKind[]).filter((kind) => kinds[kind]);
}
