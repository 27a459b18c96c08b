import { anthropicMessages } from '../../formats/dialects/anthropic-messages/index.ts';
import { type CountedForm, readCountBody } from '../../formats/dialects/bedrock-converse/count-body.ts';
import { invokeFrames } from '../../formats/dialects/bedrock-converse/event-frames.ts';
import { bedrockConverse } from '../../formats/dialects/bedrock-converse/index.ts';
import { type InvokeForm, readInvokeBody } from '../../formats/dialects/bedrock-converse/invoke-body.ts';
import { withPathMembers } from '../../formats/dialects/bedrock-converse/path-members.ts';
import { readRerankBody, rerankResults, rerankWords } from '../../formats/dialects/bedrock-converse/rerank-body.ts';
import { rerank } from '../../formats/dialects/forwarded/rerank.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import { bedrockEmbeddingSchema } from '../../formats/embeddings/read-bedrock-request.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { chatEndpoint } from '../../inference/families/chat/endpoint.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import { forwardedEndpoint } from '../../inference/families/forwarded/endpoint.ts';
import type { Alias } from '../../inference/models/alias.ts';
import { describedModel, listedModels } from '../../inference/models/ruled-names.ts';
import { type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { readBody } from '../read-body.ts';
import type { SignedCallers } from '../signed-caller.ts';
import { claimIn } from '../signed-request.ts';
import { refuseCall, writeJson } from '../write-json.ts';
import { conversationRoute } from './conversation.ts';
import { ConvertedDelivery } from './converted-delivery.ts';
import { countingHandler } from './count-tokens.ts';
import { keyRoute } from './key-route.ts';
import { readObject } from './read-object.ts';

/** Amazon Bedrock's runtime API over any provider, and its lists of models, at the paths that AWS's SDKs ask (docs/bedrock-api.md). */
export function bedrockRoutes(services: Services, signed: SignedCallers): Route[] {
  const converse = { endpoint: 'chat', dialect: bedrockConverse, limitForm: 'openai' } as const;
  const routes = [
    conversationRoute(services, {
      ...converse,
      path: '/model/:modelId/converse',
      summary: "A conversation in the format of Amazon Bedrock's Converse",
      readBody: (exchange, body) => withPathMembers(body, modelOf(exchange), false),
    }),
    conversationRoute(services, {
      ...converse,
      path: '/model/:modelId/converse-stream',
      summary: "The same as a stream of AWS's events",
      readBody: (exchange, body) => withPathMembers(body, modelOf(exchange), true),
    }),
    invokeRoute(
      services,
      '/model/:modelId/invoke',
      "A call of a model in its vendor's own format, as Bedrock takes it",
    ),
    invokeRoute(services, '/model/:modelId/invoke-with-response-stream', "The same as a stream of AWS's events"),
    countRoute(services),
    rerankRoute(services),
    ...foundationModelRoutes(services),
    ...invocationJobRoutes(),
  ];
  // For callers who sign, too: their body has been read by then, and counts for their account from now on.
  return routes.map((route) => ({
    ...route,
    signed,
    handle(exchange) {
      if (exchange.givenBody !== null) exchange.held?.add(exchange.givenBody.length);
      return route.handle(exchange);
    },
  }));
}

/** The model of the path. AWS's SDKs read the id of the request from the header that this sets. */
function modelOf({ params, response, requestId }: Exchange): string {
  response.setHeader('x-amzn-requestid', requestId);
  return params.modelId ?? '';
}

/** Errors and frames of AWS around a vendor's own format. */
const invokeDialect: Route['dialect'] = { ...bedrockConverse, wire: invokeFrames };

function invokeRoute(services: Services, path: string, summary: string): Route {
  const isStream = path.endsWith('-stream');
  const handlers: Record<InvokeForm, Route['handle']> = {
    'anthropic-messages': bodyHandler(services, chatEndpoint(services, 'messages', 'anthropic-messages'), asReceived),
    'openai-chat': bodyHandler(services, chatEndpoint(services, 'chat', 'openai-chat'), asReceived),
    'bedrock-converse': bodyHandler(services, chatEndpoint(services, 'chat', 'bedrock-converse'), asReceived),
    embeddings: bodyHandler(services, embeddingsEndpoint(services, 'bedrock-embeddings'), asReceived),
    rerank: bodyHandler(services, forwardedEndpoint(services, rerank.id), asReceived),
  };
  return keyRoute(`POST ${path}`, 'one', {
    summary,
    limitForm: 'openai',
    endpoint: 'invoke',
    dialect: invokeDialect,
    body: {
      schema: isStream ? conversationSchema : () => ({ anyOf: [conversationSchema(), bedrockEmbeddingSchema()] }),
    },
    handle: (exchange) =>
      answerByForm(services, exchange, handlers, (raw) => {
        const read = readInvokeBody(raw, modelOf(exchange), isStream);
        if (!isFailure(read) && read.betas !== null) exchange.request.headers['anthropic-beta'] = read.betas;
        return read;
      }),
  });
}

/** AWS's CountTokens, of a conversation in Converse's format or of a body of InvokeModel. Free. */
function countRoute(services: Services): Route {
  const answer = (inputTokens: number) => ({ inputTokens });
  const handlers: Record<CountedForm, Route['handle']> = {
    'anthropic-messages': countingHandler(services, { dialect: anthropicMessages, answer }),
    'openai-chat': countingHandler(services, { dialect: openAiChat, answer }),
    'bedrock-converse': countingHandler(services, { dialect: bedrockConverse, answer }),
  };
  return keyRoute('POST /model/:modelId/count-tokens', 'free', {
    summary: "Count the input tokens of a conversation, as AWS's CountTokens; free",
    limitForm: 'openai',
    endpoint: 'count-tokens',
    dialect: invokeDialect,
    body: { schema: countSchema },
    handle: (exchange) => answerByForm(services, exchange, handlers, (raw) => readCountBody(raw, modelOf(exchange))),
  });
}

/** The agent runtime's Rerank. Clients of `/v1/rerank` whose base URL lacks the `/v1` come here, too. */
function rerankRoute(services: Services): Route {
  const rank = bodyHandler(services, forwardedEndpoint(services, rerank.id), asReceived);
  const { errorBody } = invokeDialect;
  return keyRoute('POST /rerank', 'one', {
    summary: `${rerank.summary}, as AWS's Rerank`,
    limitForm: 'openai',
    endpoint: rerank.id,
    dialect: { ...invokeDialect, errorBody: (...of) => ({ ...errorBody(...of), ...openAiChat.errorBody(...of) }) },
    body: { schema: rerankSchema },
    async handle(exchange) {
      const request = await readObject(services, exchange);
      if (request === null) return;
      const isAws = request.queries !== undefined || request.sources !== undefined;
      const read = isAws ? readRerankBody(request) : { body: request };
      if (isFailure(read)) return void refuseCall(exchange, read);
      const { body } = read;
      if (isAws) body.model = describedModelOf(services, exchange, String(body.model)).name;
      const answerOf = (answer: Buffer) => rerankResults(JSON.parse(answer.toString()) as JsonObject);
      const client = isAws
        ? new ConvertedDelivery(exchange.client, { words: rerankWords, lost: [], answerOf })
        : exchange.client;
      exchange.response.setHeader('x-amzn-requestid', exchange.requestId);
      await rank({ ...exchange, client, givenBody: Buffer.from(JSON.stringify(body)) });
    },
  });
}

/** Reads a body of any type, as AWS's SDKs send it, and gives what is in it to the handler of its form. */
async function answerByForm<Form extends string>(
  services: Services,
  exchange: Exchange,
  handlers: Readonly<Record<Form, Route['handle']>>,
  read: (raw: Buffer) => { form: Form; body: Buffer } | Failure,
): Promise<void> {
  const raw = await readBody(exchange, services.snapshots.current.config.server.body_limit);
  if (raw === null) return;
  const found = Buffer.isBuffer(raw) ? read(raw) : raw;
  if (isFailure(found)) return void refuseCall(exchange, found);
  await handlers[found.form]({ ...exchange, givenBody: found.body });
}

function rerankSchema() {
  const objects = { type: 'array', items: { type: 'object' } };
  return {
    type: 'object',
    properties: { queries: objects, sources: objects, rerankingConfiguration: { type: 'object' } },
  };
}

function countSchema() {
  const invokeModel = { type: 'object', properties: { body: { type: 'string', format: 'byte' } }, required: ['body'] };
  const input = { type: 'object', properties: { converse: conversationSchema(), invokeModel } };
  return { type: 'object', properties: { input }, required: ['input'] };
}

function conversationSchema() {
  return { type: 'object', properties: { messages: { type: 'array', items: { type: 'object' } } } };
}

/** Models of the key, as AWS's clients ask Bedrock's control plane for them. */
function foundationModelRoutes(services: Services): Route[] {
  const read = (call: `GET ${string}`, summary: string, show: typeof list) =>
    keyRoute(call, 'free', { dialect: bedrockConverse, summary, handle: (exchange) => show(services, exchange) });
  return [
    read('GET /foundation-models', "The models of the key, as AWS's ListFoundationModels", list),
    read('GET /foundation-models/:modelIdentifier', "One model, as AWS's GetFoundationModel", describe),
  ];
}

/** Values of the filters, which AWS's clients send as its API has them. */
const filters: Readonly<Record<string, readonly string[]>> = {
  byCustomizationType: ['FINE_TUNING', 'CONTINUED_PRE_TRAINING', 'DISTILLATION'],
  byOutputModality: ['TEXT', 'IMAGE', 'EMBEDDING', 'VIDEO', 'SPEECH'],
  byInferenceType: ['ON_DEMAND', 'PROVISIONED'],
};

function list(services: Services, exchange: Exchange): void {
  const query = new URLSearchParams(exchange.search);
  const wrong = wrongFilter(query);
  if (wrong !== null) return void refuseCall(exchange, wrong);
  const provider = query.get('byProvider')?.toLowerCase();
  const output = query.get('byOutputModality');
  // Nothing is fine-tuned or provisioned by this API.
  const isNone = query.has('byCustomizationType') || query.get('byInferenceType') === 'PROVISIONED';
  const aliases = isNone ? [] : listedModels(services.snapshots.current, callerOf(exchange));
  const modelSummaries = aliases
    .filter(({ ownedBy }) => provider === undefined || ownedBy.toLowerCase() === provider)
    .map((alias) => entryOf(alias, regionOf(exchange)))
    .filter(({ outputModalities }) => output === null || outputModalities.includes(output));
  answer(exchange, { modelSummaries });
}

function wrongFilter(query: URLSearchParams): Failure | null {
  for (const [name, values] of Object.entries(filters)) {
    const value = query.get(name);
    if (value === null || values.includes(value)) continue;
    return invalid(name, `'${name}' must be one of ${values.join(', ')}. Leave it out for all models.`);
  }
  return null;
}

function describe(services: Services, exchange: Exchange): void {
  const { alias } = describedModelOf(services, exchange, exchange.params.modelIdentifier ?? '');
  if (isFailure(alias)) return void refuseCall(exchange, alias);
  answer(exchange, { modelDetails: entryOf(alias, regionOf(exchange)) });
}

/** The model of this name, or of this ARN. */
function describedModelOf(services: Services, exchange: Exchange, given: string) {
  const find = (name: string) => ({
    name,
    alias: describedModel(services.snapshots.current, name, callerOf(exchange)),
  });
  const direct = find(given);
  const [, ofArn] = arnOfModel.exec(given) ?? [];
  return isFailure(direct.alias) && ofArn !== undefined ? find(ofArn) : direct;
}

const arnOfModel = /^arn:aws[\w-]*:bedrock:[\w-]*::foundation-model\/(.+)$/s;

function regionOf({ request }: Exchange): string {
  return claimIn(request.headers)?.region ?? 'us-east-1';
}

interface ModelEntry extends JsonObject {
  outputModalities: string[];
}

function entryOf({ id, ownedBy, listedAs, candidates }: Alias, region: string): ModelEntry {
  const targets = candidates.filter(({ rank }) => rank === 0).map(({ target }) => target);
  const seesImages = listedAs === 'chat' && targets.some(({ capabilities }) => capabilities.vision);
  const streams = listedAs === 'chat' && (targets.length === 0 || targets.some((one) => one.capabilities.streaming));
  return {
    modelArn: `arn:aws:bedrock:${region}::foundation-model/${id}`,
    modelId: id,
    modelName: id,
    providerName: ownedBy,
    inputModalities: [...(listedAs === 'transcription' ? ['SPEECH'] : ['TEXT']), ...(seesImages ? ['IMAGE'] : [])],
    outputModalities: [outputs[listedAs] ?? 'TEXT'],
    responseStreamingSupported: streams,
    customizationsSupported: [],
    inferenceTypesSupported: ['ON_DEMAND'],
    modelLifecycle: { status: 'ACTIVE' },
  };
}

const outputs: Readonly<Record<string, string>> = {
  embedding: 'EMBEDDING',
  image: 'IMAGE',
  video: 'VIDEO',
  speech: 'SPEECH',
};

function answer(exchange: Exchange, body: JsonObject): void {
  const { requestId, admitted } = exchange;
  writeJson(exchange, 200, body, [...(admitted?.headers ?? []), 'x-amzn-requestid', requestId]);
}

/**
 * Jobs of Bedrock's control plane that call a model for each line of a file in S3. Nothing here reads the caller's
 * buckets, so each call is refused in Bedrock's format, and the message names the batches that do the same.
 */
function invocationJobRoutes(): Route[] {
  const refused = (method: Route['method'], path: string, operation: string): Route =>
    keyRoute(`${method} ${path}`, method === 'POST' ? 'one' : 'free', {
      endpoint: 'invocation-jobs',
      dialect: bedrockConverse,
      summary: `Refuses AWS's ${operation}, and names the batches that do the same`,
      handle: (exchange) => void refuseCall(exchange, noJobs(operation)),
    });
  return [
    refused('POST', '/model-invocation-job', 'CreateModelInvocationJob'),
    refused('GET', '/model-invocation-jobs', 'ListModelInvocationJobs'),
    refused('GET', '/model-invocation-job/:jobIdentifier', 'GetModelInvocationJob'),
    refused('POST', '/model-invocation-job/:jobIdentifier/stop', 'StopModelInvocationJob'),
  ];
}

function noJobs(operation: string): Failure {
  const message = `${operation}: jobs over files in S3 are not here. Upload the lines to /v1/files and send a batch to /v1/batches or /v1/messages/batches, over any provider.`;
  // A 5xx would be repeated by AWS's clients.
  return invalid(null, message);
}
