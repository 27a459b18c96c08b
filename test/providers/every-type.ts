import type { TestContext } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { catalog } from '../../src/inference/providers/catalog.ts';
import type { Provider } from '../../src/inference/providers/provider.ts';
import type { RecordedRequest } from '../../src/simulator/recording.ts';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { ownModels, startMediaServices, tokenFor } from './media-services.ts';

/** Every type of provider in one gateway, each at a base URL of its own of one upstream. */
export interface EveryType {
  gateway: TestGateway;
  upstream: Upstream;
  openai: OpenAI;
  anthropic: Anthropic;
  /** Where a type is reached: of the upstream, or of a server that speaks formats of single services. */
  addressOf(provider: Provider): { base_url: string; iam_url?: string };
  /** Requests to either since the last `forget`, without those for lists of models. */
  sent(): Pick<RecordedRequest, 'path' | 'headers' | 'body'>[];
  forget(): void;
}

/** Bedrock answers in frames of bytes: `contract/bedrock.test.ts` asks it, over an upstream of its own. */
export const types: readonly Provider[] = catalog.filter(({ dialect }) => dialect !== 'bedrock-converse');

export const chatting: readonly Provider[] = types.filter(({ paths, chatPath }) => paths.chat !== null || chatPath);

/** How the path of a type's base URL begins at the upstream; requests are told apart by it. */
export function basePathOf({ id, baseUrl, baseEnd }: Provider): string {
  const own = baseUrl === null ? (baseEnd ?? '') : new URL(baseUrl).pathname;
  return `/${id}${own === '/' ? '' : own}`;
}

/** Target of a conversation; a converted one is requested as a stream, whatever the caller wants. */
export function chatPathOf(provider: Provider, answer: 'whole' | 'stream'): string {
  const form = provider.dialect === 'openai-chat' ? answer : 'stream';
  const own =
    provider.chatPath?.('mock-ok', { apiVersion: null, answer: form, dialect: provider.dialect }) ??
    provider.paths.chat;
  return basePathOf(provider) + own;
}

/** Not the type's own name: `culvert` is the gateway's. */
export function nameOf({ id }: Provider): string {
  return `up-${id}`;
}

export function keyOf({ id }: Provider): string {
  return `key-of-${id}`;
}

/** A model that each kind of a service's models has by this name, for services that go by names. */
const upstreamModels = {
  chat: () => 'mock-ok',
  embedding: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-embedding-001' : 'embed-1'),
  speech: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-2.5-flash-tts' : 'tts-1'),
  transcription: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-2.5-flash' : 'whisper-1'),
  image: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-2.5-flash-image' : 'flux-1-schnell'),
  rerank: () => 'rerank-1',
} as const;

type Kind = keyof typeof upstreamModels;

export function aliasOf({ id }: Provider, kind: Kind): string {
  return `${kind}-by-${id}`;
}

/** Endpoints of a type, by its file. */
export function kindsOf(provider: Provider): readonly Kind[] {
  const { embeds, speech, transcription, images, forwards = {} } = provider;
  return [
    ...(chatting.includes(provider) ? (['chat'] as const) : []),
    ...(embeds === undefined ? [] : (['embedding'] as const)),
    ...(speech === undefined ? [] : (['speech'] as const)),
    ...(transcription === undefined ? [] : (['transcription'] as const)),
    ...(images === undefined ? [] : (['image'] as const)),
    ...('rerank' in forwards ? (['rerank'] as const) : []),
  ];
}

export async function openEveryType(t: Pick<TestContext, 'after'>): Promise<EveryType> {
  const upstream = await startUpstream({ models: ['listed-model'] });
  t.after(() => upstream.close());
  const media = await startMediaServices(t);
  const addressOf = (provider: Provider) => ({
    base_url: (provider.id in ownModels ? media.url : upstream.url) + basePathOf(provider),
    ...(provider.auth === 'ibm-iam' && { iam_url: `${media.url}/iam` }),
  });
  const gateway = await startGateway(t, {
    simulator: 'off',
    providers: Object.fromEntries(
      types.map((provider) => [
        nameOf(provider),
        {
          type: provider.id,
          ...addressOf(provider),
          ...(provider.auth !== 'none' && { api_key: keyOf(provider) }),
          ...(provider.speaksToo !== undefined && { dialects: [provider.dialect, ...provider.speaksToo] }),
        },
      ]),
    ),
    models: Object.fromEntries(
      types.flatMap((provider) =>
        kindsOf(provider).map((kind) => [
          aliasOf(provider, kind),
          {
            type: kind,
            targets: [`${nameOf(provider)}/${ownModels[provider.id]?.[kind] ?? upstreamModels[kind](provider)}`],
          },
        ]),
      ),
    ),
  });
  await gateway.modelsKnown;
  upstream.clear();
  return {
    gateway,
    upstream,
    openai: new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 }),
    addressOf,
    sent: () => [
      ...upstream.requests().filter(({ method }) => method === 'POST'),
      ...media.calls.map(({ path, headers, body }) => ({ path, headers: headers as Record<string, string>, body })),
    ],
    forget() {
      upstream.clear();
      media.calls.length = 0;
    },
  };
}

/** The header of a type's key, and its value. */
export function credentialOf(provider: Provider): [header: string, value: string] | null {
  if (provider.auth === 'none') return null;
  if (provider.auth === 'ibm-iam') return ['authorization', `Bearer ${tokenFor(keyOf(provider))}`];
  const scheme = { bearer: 'Bearer', token: 'Token', key: 'Key' }[provider.auth as string];
  return scheme === undefined ? [provider.auth, keyOf(provider)] : ['authorization', `${scheme} ${keyOf(provider)}`];
}
