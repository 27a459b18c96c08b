import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { pathSegment } from '../../../kernel/web/uri-text.ts';
import { isCohere } from '../../embeddings/bedrock.ts';
import { inCloud, openedByBeta } from '../claude-in-clouds.ts';
import { imagesOfBedrock } from '../image-models.ts';
import { openAiQuirks } from '../openai-like.ts';
import { bedrockCaching } from '../prompt-caching.ts';
import type { DiscoveredModel, ForwardMembers, Provider } from '../provider.ts';
import { listedModelsMax } from '../read-model-list.ts';
import { cohereInputType } from './cohere.ts';

/**
 * https://docs.aws.amazon.com/bedrock/latest/APIReference. Models, inference profiles and ARNs are in the path. Claude
 * is asked in Anthropic's own format, by InvokeModel, so that signatures, caching and betas survive; all others by
 * Converse, whose converter decides what it can express.
 */
export const bedrock: Provider = {
  id: 'bedrock',
  title: 'Amazon Bedrock',
  dialect: 'bedrock-converse',
  baseUrl: null,
  regional: {
    base: (region) => `https://bedrock-runtime.${region}.${amazonDomain(region)}`,
    lists: (region) => `https://bedrock.${region}.${amazonDomain(region)}`,
    service: 'bedrock',
  },
  auth: 'bearer',
  envKey: 'AWS_BEARER_TOKEN_BEDROCK',
  local: false,
  paths: {
    chat: '/model',
    models: '/foundation-models',
    moreModels: ['/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED'],
  },
  headers: {},
  streamType: 'application/vnd.amazon.eventstream',
  // https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-tool-use.html
  serverTools: [],
  families: [{ pattern: /(^|[./])anthropic\.claude/, dialects: ['anthropic-messages'] }],
  bodies: {
    'anthropic-messages': {
      without: ['model', 'stream'],
      with: { anthropic_version: 'bedrock-2023-05-31' },
      fits: inCloud('fine-grained-tool-streaming-2025-05-14', ['metadata', 'service_tier', 'inference_geo']),
      // Bedrock answers 400 "invalid beta flag" to any other. AWS's page stops in 2025: the last ones were tried there.
      betas:
        /^(computer-use|token-efficient-tools|interleaved-thinking|output-128k|dev-full-thinking|context-1m|context-management|effort|tool-search-tool|tool-examples|fine-grained-tool-streaming|compact|dangerous-tool-use|per-turn-control|inline-tools|mid-conversation-(system|tool-changes|output-config)|thinking-(binding-controls|display-updates))-20\d\d-/,
      opened: { ...openedByBeta, safeguards: /^dangerous-tool-use-/ },
    },
  },
  promptCaching: bedrockCaching,
  embeds: {
    format: 'bedrock',
    path: '',
    pathOf: invokePath,
    batch: 96,
    singly: (model) => !isCohere(model),
    takesTokens: false,
    dimensions: /titan-embed-(text-v2|image)|cohere\.embed-v[4-9]|nova-2-.*embed/,
    inputType: { ...cohereInputType, asymmetric: /cohere\.embed|nova.*embed/ },
  },
  images: imagesOfBedrock,
  // The agent runtime's Rerank takes no API keys and no inference profiles; InvokeModel has Cohere's own format.
  forwards: { rerank: invokePath },
  forwardBodies: { rerank: rerankMembers },
  quirks: { ...openAiQuirks, nativeN: false, logprobs: false, seed: false },
  // A fault of the model itself, inside a stream too.
  errors: [{ status: 424, class: 'transient' }],
  tooLong: [
    /prompt is too long(?:: (?<sent>\d+) tokens > (?<most>\d+) maximum)?/i,
    /max input tokens: (?<most>\d+), request input token count: (?<sent>\d+)/i,
    /input is too long|too many input tokens|exceeds? the maximum (?:context|number of (?:input )?tokens)/i,
  ],
  chatPath: (model, { answer, dialect }) =>
    `/model/${pathSegment(model)}/${operations[dialect === 'anthropic-messages' ? 'invoke' : 'converse'][answer]}`,
  countPath: () => null,
  listModels,
};

function invokePath(model: string): string {
  return `/model/${pathSegment(model)}/${operations.invoke.whole}`;
}

/** Both vendors refuse members that they do not know; Cohere's models want the version of their API, Amazon's refuse it. */
function rerankMembers(model: string): ForwardMembers {
  const refused = ['user', 'max_chunks_per_doc', 'priority'];
  return /amazon\.rerank/.test(model)
    ? { without: ['model'], omit: [...refused, 'max_tokens_per_doc'] }
    : { without: ['model'], with: { api_version: 2 }, omit: refused };
}

const operations = {
  invoke: { whole: 'invoke', stream: 'invoke-with-response-stream' },
  converse: { whole: 'converse', stream: 'converse-stream' },
} as const;

/** Domain of AWS's services in a region. */
export function amazonDomain(region: string): string {
  return region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
}

/** ListFoundationModels and ListInferenceProfiles. */
function listModels(body: unknown): DiscoveredModel[] {
  if (!isObject(body)) return [];
  const { modelSummaries, inferenceProfileSummaries } = body;
  if (Array.isArray(modelSummaries)) return rowsOf(modelSummaries).flatMap(foundationModel);
  if (Array.isArray(inferenceProfileSummaries)) return rowsOf(inferenceProfileSummaries).flatMap(inferenceProfile);
  return [];
}

function rowsOf(rows: readonly JsonValue[]): JsonObject[] {
  return rows.slice(0, listedModelsMax).filter(isObject);
}

const listedId = /^[A-Za-z0-9][\w.:/-]{0,199}$/;

/** Models that can be called by their own id: others are reached by an inference profile alone. */
function foundationModel(row: JsonObject): DiscoveredModel[] {
  const { modelId: id, outputModalities: outputs, inferenceTypesSupported: ways } = row;
  if (typeof id !== 'string' || !listedId.test(id) || !Array.isArray(outputs)) return [];
  if (!Array.isArray(ways) || !ways.includes('ON_DEMAND')) return [];
  const type = outputs.includes('EMBEDDING') ? 'embedding' : outputs.includes('IMAGE') ? 'image' : typeOf(id);
  return outputs.includes('TEXT') || type !== 'chat' ? [{ id, type }] : [];
}

function inferenceProfile({ inferenceProfileId: id, status }: JsonObject): DiscoveredModel[] {
  if (typeof id !== 'string' || !listedId.test(id) || status !== 'ACTIVE') return [];
  return [{ id, type: typeOf(id) }];
}

function typeOf(id: string): DiscoveredModel['type'] {
  if (/embed|marengo/.test(id)) return 'embedding';
  if (id.includes('rerank')) return 'rerank';
  return /stability\.|-image|canvas/.test(id) ? 'image' : 'chat';
}
