import { anthropicMessages } from '../../formats/dialects/anthropic-messages/index.ts';
import { type CountedForm, readCountBody } from '../../formats/dialects/bedrock-converse/count-body.ts';
import { invokeFrames } from '../../formats/dialects/bedrock-converse/event-frames.ts';
import { bedrockConverse } from '../../formats/dialects/bedrock-converse/index.ts';
import { type InvokeForm, readInvokeBody } from '../../formats/dialects/bedrock-converse/invoke-body.ts';
import { withPathMembers } from '../../formats/dialects/bedrock-converse/path-members.ts';
import { bedrockEmbeddingSchema } from '../../formats/dialects/embeddings/read-bedrock-request.ts';
import { rerank } from '../../formats/dialects/forwarded/rerank.ts';
import { openAiChat } from '../../formats/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { chatEndpoint } from '../../inference/families/chat/endpoint.ts';
import { embeddingsEndpoint } from '../../inference/families/embeddings/endpoint.ts';
import { forwardedEndpoint } from '../../inference/families/forwarded/endpoint.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { Exchange, Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { readBody } from '../read-body.ts';
import type { SignedCallers } from '../signed-caller.ts';
import { refuseCall } from '../write-json.ts';
import { foundationModelRoutes } from './bedrock/foundation-models.ts';
import { invocationJobRoutes } from './bedrock/invocation-jobs.ts';
import { conversationRoute } from './conversation.ts';
import { countingHandler } from './count-tokens.ts';
import { keyRoute } from './key-route.ts';

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
const invokeDialect: Route['dialect'] = {
  wire: invokeFrames,
  errorBody: bedrockConverse.errorBody,
  errorFrame: bedrockConverse.errorFrame,
  ...(bedrockConverse.errorHeaders !== undefined && { errorHeaders: bedrockConverse.errorHeaders }),
};

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

function countSchema() {
  const invokeModel = { type: 'object', properties: { body: { type: 'string', format: 'byte' } }, required: ['body'] };
  const input = { type: 'object', properties: { converse: conversationSchema(), invokeModel } };
  return { type: 'object', properties: { input }, required: ['input'] };
}

function conversationSchema() {
  return { type: 'object', properties: { messages: { type: 'array', items: { type: 'object' } } } };
}
