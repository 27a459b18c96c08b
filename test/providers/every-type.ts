import type { TestContext } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { DialectId } from '../../src/formats/dialects/dialect.ts';
import { catalog } from '../../src/formats/providers/catalog.ts';
import type { Provider } from '../../src/formats/providers/provider.ts';
import type { RecordedRequest } from '../../src/simulator/recording.ts';
import { startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { bedrockWire, sageMaker, startAws, testAwsKeys } from '../upstream-formats/start-aws.ts';
import { ownModels, startMediaServices, tokenFor } from './media-services.ts';

/** Every type of provider in one gateway, each at a base URL of its own of one upstream. */
export interface EveryType {
  gateway: TestGateway;
  upstream: Upstream;
  openai: OpenAI;
  anthropic: Anthropic;
  /** Where a type is reached: of the upstream, or of a server that speaks formats of single services. */
  addressOf(provider: Provider): { base_url: string; iam_url?: string; region?: string };
  /** Requests to either since the last `forget`, without those for lists of models. */
  sent(): Pick<RecordedRequest, 'path' | 'headers' | 'body'>[];
  forget(): void;
}

export const types: readonly Provider[] = catalog;

export const chatting: readonly Provider[] = types.filter(({ paths, chatPath }) => paths.chat !== null || chatPath);

/** How the path of a type's base URL begins at the upstream; requests are told apart by it. */
export function basePathOf({ id, baseUrl, baseEnd }: Provider): string {
  const own = baseUrl === null ? (baseEnd ?? '') : new URL(baseUrl).pathname;
  return `/${id}${own === '/' ? '' : own}`;
}

/** One way in which a type is asked to chat: its own, or that of a family of its models. */
export interface Way {
  title: string;
  provider: Provider;
  /** Its own way, not a family's. */
  isUsual: boolean;
  /** Of the provider in the gateway: each way has its own, since limits cool a credential for all of them. */
  name: string;
  /** The upstream's. */
  model: string;
  alias: string;
  dialect: DialectId;
  /** Target of a conversation; a converted one is requested as a stream, whatever the caller wants. */
  pathOf(answer: 'whole' | 'stream'): string;
}

/** A model of each family that is asked otherwise than the rest of its type. */
const familyModels: Readonly<Record<string, readonly string[]>> = {
  'azure-openai': ['claude-mock'],
  bedrock: ['us.anthropic.claude-mock-v1:0'],
  vertex: ['claude-mock', 'mistral-mock', 'meta/llama-mock'],
};

export const ways: readonly Way[] = chatting.flatMap((provider) =>
  ['mock-ok', ...(familyModels[provider.id] ?? [])].map((model) => wayOf(provider, model)),
);

function wayOf(provider: Provider, model: string): Way {
  const { id, families = [], paths, chatPath } = provider;
  const family = families.find(({ pattern }) => pattern.test(model));
  const dialect = family?.dialects[0] ?? provider.dialect;
  const isUsual = family === undefined;
  return {
    title: isUsual ? id : `${id}, ${model}`,
    provider,
    isUsual,
    name: nameOf(provider) + (isUsual ? '' : `-${families.indexOf(family)}`),
    model,
    alias: `chat-by-${id}${isUsual ? '' : `-${families.indexOf(family)}`}`,
    dialect,
    pathOf(answer) {
      const form = dialect === 'openai-chat' ? answer : 'stream';
      const { messages } = paths;
      if (dialect !== provider.dialect && dialect === 'anthropic-messages' && typeof messages === 'string') {
        return basePathOf(provider) + messages;
      }
      return basePathOf(provider) + (chatPath?.(model, { apiVersion: null, answer: form, dialect }) ?? paths.chat);
    },
  };
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
  embedding: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-embedding-001' : 'embed-1'),
  speech: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-2.5-flash-tts' : 'tts-1'),
  transcription: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-2.5-flash' : 'whisper-1'),
  image: ({ dialect }: Provider) => (dialect === 'gemini' ? 'gemini-2.5-flash-image' : 'flux-1-schnell'),
  rerank: () => 'rerank-1',
} as const;

type Kind = keyof typeof upstreamModels;

const modelsOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ...ownModels,
  bedrock: {
    embedding: 'cohere.embed-multilingual-v3',
    image: 'amazon.nova-canvas-v1:0',
    rerank: 'amazon.rerank-v1:0',
  },
};

const signing = { access_key_id: testAwsKeys.accessKeyId, secret_access_key: testAwsKeys.secretAccessKey };

export function aliasOf({ id }: Provider, kind: Kind): string {
  return `${kind}-by-${id}`;
}

/** Endpoints of a type beside chat, by its file. */
export function kindsOf(provider: Provider): readonly Kind[] {
  const { embeds, speech, transcription, images, forwards = {} } = provider;
  return [
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
  const aws: Readonly<Record<string, { url: string }>> = {
    bedrock: await startAws(
      t,
      upstream,
      bedrockWire((authorization) => authorization !== 'Bearer a-key'),
    ),
    sagemaker: await startAws(t, upstream, sageMaker(100)),
  };
  const addressOf = (provider: Provider) => ({
    base_url: (provider.id in ownModels ? media.url : (aws[provider.id]?.url ?? upstream.url)) + basePathOf(provider),
    ...(provider.regional !== undefined && { region: 'eu-west-1' }),
    ...(provider.auth === 'ibm-iam' && { iam_url: `${media.url}/iam` }),
  });
  const settingsOf = (provider: Provider) => ({
    type: provider.id,
    ...addressOf(provider),
    ...(provider.auth !== 'none' && { api_key: keyOf(provider) }),
    ...(provider.id === 'sagemaker' && { aws: signing }),
    ...(provider.speaksToo !== undefined && { dialects: [provider.dialect, ...provider.speaksToo] }),
  });
  const gateway = await startGateway(t, {
    simulator: 'off',
    providers: Object.fromEntries([
      ...types.map((provider) => [nameOf(provider), settingsOf(provider)]),
      ...ways.map(({ name, provider }) => [name, settingsOf(provider)]),
    ]),
    models: Object.fromEntries([
      ...ways.map(({ alias, name, model }) => [alias, { type: 'chat', targets: [`${name}/${model}`] }]),
      ...types.flatMap((provider) =>
        kindsOf(provider).map((kind) => [
          aliasOf(provider, kind),
          {
            type: kind,
            targets: [`${nameOf(provider)}/${modelsOf[provider.id]?.[kind] ?? upstreamModels[kind](provider)}`],
          },
        ]),
      ),
    ]),
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
