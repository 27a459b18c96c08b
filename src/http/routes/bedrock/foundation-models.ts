import { bedrockConverse } from '../../../formats/dialects/bedrock-converse/index.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { Alias } from '../../../inference/models/alias.ts';
import { describedModel, listedModels } from '../../../inference/models/ruled-names.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { callerOf, type Exchange, type Route } from '../../exchange.ts';
import { claimIn } from '../../signed-request.ts';
import { refuseCall, writeJson } from '../../write-json.ts';

/** Models of the key, as AWS's clients ask Bedrock's control plane for them. */
export function foundationModelRoutes(services: Services): Route[] {
  const shared = { method: 'GET', auth: 'key', quota: 'free', dialect: bedrockConverse } as const;
  return [
    {
      ...shared,
      path: '/foundation-models',
      summary: "The models of the key, as AWS's ListFoundationModels",
      handle: (exchange) => list(services, exchange),
    },
    {
      ...shared,
      path: '/foundation-models/:modelIdentifier',
      summary: "One model, as AWS's GetFoundationModel",
      handle: (exchange) => describe(services, exchange),
    },
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
  const name = exchange.params.modelIdentifier ?? '';
  const snapshot = services.snapshots.current;
  const caller = callerOf(exchange);
  const direct = describedModel(snapshot, name, caller);
  const [, ofArn] = arnOfModel.exec(name) ?? [];
  const alias = isFailure(direct) && ofArn !== undefined ? describedModel(snapshot, ofArn, caller) : direct;
  if (isFailure(alias)) return void refuseCall(exchange, alias);
  answer(exchange, { modelDetails: entryOf(alias, regionOf(exchange)) });
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
