import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { DialectId, UpstreamError, UsageOf } from '../dialects/dialect.ts';
import type { FitMembers } from '../dialects/forward-target.ts';
import type { ForwardedEndpointId } from '../dialects/forwarded/endpoint.ts';
import type { PromptCaching } from '../dialects/prompt-cache.ts';
import type { EmbeddingFacts } from '../embeddings/format.ts';
import type { ImageFacts } from '../media/images/format.ts';
import type { SpeechFacts } from '../media/speech/format.ts';
import type { VoiceFacts } from '../media/speech/voices.ts';
import type { TranscriptionFacts } from '../media/transcription/format.ts';
import type { VideoFacts } from '../media/videos/format.ts';
import type { FaultClass } from '../neutral/outcome.ts';
import type { ServerToolKind } from '../neutral/server-tool.ts';

/** An upstream service as data of a catalog file. No I/O, no logger, no class. */
export interface Provider {
  /** The `type:` of the configuration. */
  id: string;
  /** Its name in messages to people. */
  title: string;
  /** Its name in the price list (`models/price-list`), where its prices are those of the type's own address. */
  prices?: string;
  /** The format that it speaks. */
  dialect: Exclude<DialectId, 'openai-responses'>;
  /** It keeps responses, which `previous_response_id` names later; absent: it does not. */
  keepsResponses?: boolean;
  /**
   * Further formats that it speaks at its own base URL; elsewhere `dialects` of the configuration says. Types without
   * one: always.
   */
  speaksToo?: readonly DialectId[];
  /** Tools that it runs without Culvert for callers of its formats; absent: as their vendors do (`runs-tools`). */
  serverTools?: readonly ServerToolKind[];
  /** Models that are asked otherwise than that, whatever `dialects` of the configuration says: the first that matches. */
  families?: readonly ModelFamily[];
  /** Models that call tools in the Responses format alone, which refuse the other of OpenAI's; absent: none. */
  toolsByResponses?: RegExp;
  /** Models that refuse `stop` in chat completions: in the Responses format, which has none, Culvert cuts the answer. */
  stopByResponses?: RegExp;
  /** How bodies of a format differ here from those of the format's own vendor. */
  bodies?: Readonly<Partial<Record<DialectId, BodyMembers>>>;
  /** Base URL without a trailing slash; null when the configuration must give one. */
  baseUrl: string | null;
  /** Base URL by what the configuration says, where it is not one for all; a message where something is lacking. */
  placeOf?: (place: Place) => { baseUrl: string } | { message: string };
  /** Its addresses where it has some in each region, which the configuration names. */
  regional?: RegionalAddresses;
  /** Ends of a pasted base URL that `paths` would repeat: taken off, longest first. */
  baseSuffixes?: readonly string[];
  /** Version at which base URLs of this service end: added where people leave out any, as its own SDK does. */
  baseEnd?: string;
  auth: ProviderAuth;
  /** How a caller's own credential proves who asks, where the operator lets callers bring it; absent: it cannot. */
  callers?: CallersCredential;
  /** Whose tokens it takes where no key is configured. */
  tokens?: TokenIssuer;
  /** Environment variable that holds its key: it configures the provider when there is no file. */
  envKey: string | null;
  /** A server on the caller's own machine: no key needed, found by probes, 30 s `first_token` is too short. */
  local: boolean;
  paths: ProviderPaths;
  /** Endpoints that it serves in the one format they have. */
  forwards?: ForwardPaths;
  /** How bodies of those differ here, by model; absent: not at all. */
  forwardBodies?: Readonly<Partial<Record<ForwardedEndpointId, (model: string) => ForwardMembers>>>;
  /** Further endpoints that servers of this type at another address are assumed to have. */
  forwardsElsewhere?: ForwardPaths;
  /** How a request gets a prompt of the model into its cache; absent or null: it needs nothing for that. */
  promptCaching?: (model: string) => PromptCaching | null;
  /** How it makes vectors; absent: it does not. */
  embeds?: EmbeddingFacts;
  /** Differences of servers of this type at another address. */
  embedsElsewhere?: Partial<EmbeddingFacts>;
  /** How it makes pictures; absent: it does not. */
  images?: ImageFacts;
  /** How servers of this type at another address than the service's own make them. */
  imagesElsewhere?: ImageFacts;
  /** How it makes videos; absent: it does not. */
  videos?: VideoFacts;
  /** How servers of this type at another address than the service's own make them. */
  videosElsewhere?: VideoFacts;
  /** How it speaks; absent: it does not. */
  speech?: SpeechFacts;
  /** Differences of servers of this type at another address. */
  speechElsewhere?: Partial<SpeechFacts>;
  /** How it writes down speech; absent: it does not. */
  transcription?: TranscriptionFacts;
  /** How servers of this type at another address than the service's own do it. */
  transcriptionElsewhere?: TranscriptionFacts;
  /** How it holds realtime sessions; absent: it does not. */
  realtime?: RealtimeFacts;
  /** Its own API for many requests that nobody waits for; absent: it has none that Culvert uses. */
  batches?: BatchFacts;
  /** Headers sent with every request, such as `anthropic-version`. */
  headers: Readonly<Record<string, string>>;
  /** The `Accept` of a stream. Absent: text/event-stream. */
  streamType?: string;
  /** How its answers in its own dialect tell what was used, where that is not the dialect's way. */
  usageOf?: UsageOf;
  /**
   * True where `content` of answers is a list with thoughts in it, which its own clients alone read. `thinks`: it was requested to.
   */
  listsThoughts?(model: string, thinks: boolean): boolean;
  quirks: ProviderQuirks;
  /** Takes precedence over the dialect's own table: status and error code → class. First match decides. */
  errors: readonly ErrorRule[];
  /** Its words for a prompt that does not fit, with the tokens that were `sent` and the `most` it takes, if it tells them. */
  tooLong?: readonly RegExp[];
  /** Its id of a model that callers name as another vendor does, through a pattern; absent: the same. */
  idOf?: (model: string) => string;
  /** Path and query for a model, where it is not simply `paths.chat` (Azure's deployments, Google's methods). */
  chatPath?: (model: string, options: ChatPathOptions) => string;
  /** Path and query where tokens of a body are counted; null: nowhere. Absent: where the format's own vendor has it. */
  countPath?: (model: string, dialect: DialectId) => string | null;
  /** Its lists are asked for by a POST of this; absent: by a GET. */
  listRequest?: { headers: readonly string[]; body: string };
  /**
   * Models that can be called, from the body of `GET paths.models`. Default: `readModelList`, which knows every shape
   * so far.
   */
  listModels?: (body: unknown) => DiscoveredModel[] | null;
}

/** Headers of the vendor's own clients, by which it knows who asks. */
export interface CallersCredential {
  /** They hold the credential: `authorization` as `Bearer …`, any other alone. */
  proofs: readonly ('authorization' | 'x-api-key')[];
  /** Names of further ones that go with it as they came. */
  passes: RegExp;
  /** Names of those that identify a person or an account: no message contains their values. */
  hidden: RegExp;
  /** Names of headers of answers that say how full the limits of the credential are: they go to its caller alone. */
  limits: RegExp;
}

/** Sessions over a WebSocket, in which sound and text go both ways. */
export interface RealtimeFacts {
  /** Format of the messages. */
  format: 'openai' | 'gemini';
  /** Its voices, where the format is not OpenAI's. */
  voices?: VoiceFacts;
  /** Path and query of the WebSocket of a model. */
  pathOf(model: string, options: { apiVersion: string | null }): PathAt;
  /** The model as the setup names it, below the path of the base URL. Default: its id. */
  resourceOf?: (model: string, basePath: string) => string;
  /** A session goes on over another connection when its provider closes the first. Absent: it ends with it. */
  resumes?: true;
  /** Path and query of a session that only transcribes, whose model is named within; absent: it holds none. */
  transcriptions?: string;
  /** Where it takes offers of WebRTC; absent: nowhere. Its sessions are joined below `socket`. */
  calls?: { path: string; socket: string };
}

/** An API that takes requests as a file, and answers them within a day for less. */
export interface BatchFacts {
  format: 'openai' | 'anthropic' | 'mistral' | 'gemini';
  /** Before the paths of the API, below the base URL; absent: nothing. */
  root?: string;
  /** The `url` that a batch's line has for this path below the base URL; null: a batch does not take it. */
  urlOf(path: string): string | null;
  /** Most lines of a batch, and bytes of its file. */
  linesMax: number;
  bytesMax: number;
  /** Price of a request in a batch: this part of the usual one, 0 to 1. */
  priceShare: number;
}

/** Models of one service that are asked in other formats. */
export interface ModelFamily {
  /** Over the upstream model id. */
  pattern: RegExp;
  /** The first one is for callers of yet another. */
  dialects: readonly [DialectId, ...DialectId[]];
}

/** Top-level members of a body that a service has elsewhere, or wants besides. */
export interface BodyMembers {
  /** Members that are in the path: left out, which is no loss. */
  without?: readonly string[];
  with?: JsonObject;
  /** Betas that it knows. They go into the member `anthropic_beta`; others are left out. Absent: they are a header. */
  betas?: RegExp;
  /** Betas of the header that it knows: it answers 400 to others. Absent: it takes any. */
  headerBetas?: RegExp;
  /** Members that go with a known beta alone: left out elsewhere, as without it. */
  opened?: Readonly<Record<string, RegExp>>;
  /** Members as it takes them; absent: it takes any. */
  fits?: FitMembers;
}

/** Base URLs by region, without a trailing slash. */
export interface RegionalAddresses {
  base(region: string): string;
  /** Origin of its lists of models. */
  lists(region: string): string;
  /** The service that its signatures name. */
  service: string;
}

export interface ChatPathOptions {
  apiVersion: string | null;
  answer: 'whole' | 'stream';
  /** Format of the body. */
  dialect: DialectId;
}

/** Where in a cloud a service is asked, as the configuration and the environment say. */
export interface Place {
  /** The operator's. */
  baseUrl: string | null;
  region: string | null;
  project: string | null;
  apiVersion: string | null;
  /** It is asked with a key that is a header. */
  keyed: boolean;
}

export interface ProviderPaths {
  /** Below the base URL; null when the service does not chat. */
  chat: string | null;
  /** Below the base URL; null or absent when the service does not know OpenAI's Responses format at all. */
  responses?: string | null;
  /** The same for Anthropic's Messages format, which some have outside of their base URL. */
  messages?: PathAt | null;
  /** Below the base URL; null when there is no list of models. */
  models: string | null;
  /** Not each key may see the list: 400, 403 and 404 mean that there is none for this one. */
  mayRefuseModels?: true;
  /** Further lists, below the base URL. */
  moreModels?: readonly string[];
  /**
   * Says who a key is. Where the list is for everybody, this alone tells a wrong one; null: no free call of such a service
   * does. `origin`: the vendor has it at another host, which is asked for keys of its default address alone.
   */
  key?: PathAt | { readonly origin: string; readonly path: string } | null;
  /** From the origin, for a list that is not below the base URL; takes precedence over `models`. */
  originModels?: string;
}

/** Below the base URL, or from the origin. */
export type PathAt = string | { readonly fromOrigin: string };

/** A path that depends on the model is below the base URL. */
export type ForwardPaths = Readonly<Partial<Record<ForwardedEndpointId, PathAt | ((model: string) => string)>>>;

/** Top-level members of an endpoint's body that a service has elsewhere, refuses, or wants besides. */
export interface ForwardMembers extends BodyMembers {
  /** It answers 400 to these: dropped and listed. */
  omit: readonly string[];
  /** Its names for members; absent: the caller's. */
  rename?: Readonly<Record<string, string>>;
}

/** Services that give tokens to the machine or the operator that runs Culvert. */
export interface TokenIssuer {
  id: 'entra' | 'google';
  /** Hosts to which a token of this machine may go though the configuration does not name the issuer. */
  hosts: RegExp;
}

export type ProviderAuth =
  | 'bearer'
  | 'x-api-key'
  | 'api-key'
  | 'x-goog-api-key'
  | 'xi-api-key'
  | 'x-key'
  | 'token'
  | 'key'
  /** The key alone, without a scheme. */
  | 'authorization'
  /** The key is exchanged for tokens of IBM Cloud. */
  | 'ibm-iam'
  | 'none';

/** Where a service differs from OpenAI's API; see `openAiQuirks` for one that does not. */
export interface ProviderQuirks {
  /** Top-level request fields it answers 400 to: dropped and listed. */
  omit: readonly string[];
  /** The same in bodies of chat completions alone: other formats that it speaks have members of these names. */
  omitInChat?: readonly string[];
  /** Fields that callers of other formats have and OpenAI's has not: left out and listed where it refuses them. */
  omitConverted?: readonly string[];
  /** Request fields it spells otherwise, e.g. `max_completion_tokens` → `max_tokens`. */
  rename: Readonly<Record<string, string>>;
  /** Knows `stream_options.include_usage`. */
  streamUsage: boolean;
  /** `n` > 1 in one call. */
  nativeN: boolean;
  logprobs: boolean;
  seed: boolean;
  /** Parts with files, such as PDFs. Absent: it takes them. */
  files?: boolean;
  /**
   * Templates of its models take one message of the system, the first one. Later ones of callers of other formats, such
   * as Claude Code's, are the user's there. Absent: they keep their places.
   */
  systemFirst?: boolean;
  /** A conversation's messages as it takes them, of callers of its format too; null: they can stay. Absent: it takes any. */
  history?: (messages: readonly JsonValue[]) => JsonValue[] | null;
  /** Members as it takes them, in every dialect, of callers of its format too. Absent: it takes any. */
  fits?: readonly FitMembers[];
  /** Takes tools as `functions`, the older form, and custom ones. Absent: it gets them as `tools` with JSON. */
  functions?: true;
  /** `response_format: json_schema`; without it one of `fits` has JSON mode in its place. */
  jsonSchema: boolean;
  /** Models that accept less than the service does; every match applies. Fields that would change the answer stay in. */
  models?: readonly ModelQuirks[];
}

/** Further quirks of some models of a service. */
export interface ModelQuirks
  extends Partial<Pick<ProviderQuirks, 'omit' | 'omitInChat' | 'rename' | 'systemFirst' | 'fits' | 'functions'>> {
  /** Over the name of `bareName`. */
  pattern: RegExp;
  /** Further `fits`, for bodies of chat completions alone. */
  fitsInChat?: readonly FitMembers[];
  /** Holds where neither the service nor a rule before has one. */
  history?: NonNullable<ProviderQuirks['history']>;
  /** Words of `reasoning_effort` that it takes: callers who ask in others get the nearest; the first match decides. */
  efforts?: readonly string[];
}

/** Quirks that hold for one model in one dialect. */
export interface QuirksOfModel extends Omit<ProviderQuirks, 'omitInChat' | 'models'> {
  efforts?: readonly string[];
}

export interface ErrorRule {
  status?: number;
  /** Equal to the error's code or type, or a pattern over code and message. */
  code?: string | RegExp;
  /** Field that the error blames. */
  param?: string;
  class: FaultClass;
}

/** A model of a list; an absent fact was not given. Sizes in tokens. */
export interface DiscoveredModel {
  id: string;
  type:
    | 'chat'
    | 'embedding'
    | 'speech'
    | 'transcription'
    | 'image'
    | 'video'
    | 'rerank'
    | 'moderation'
    | 'ocr'
    | 'realtime';
  contextWindow?: number;
  maxOutputTokens?: number;
  /** Length of its vectors. */
  dimensions?: number;
  createdS?: number;
  /** Day on which its provider shuts it down, YYYY-MM-DD in UTC; absent: none is announced. */
  retiresOn?: string;
}

/**
 * Which class an upstream's answer falls in; `error` null when its body could not be read. `dialect`: what was asked
 * and answered in; absent: the provider's own.
 */
export type Classify = (
  provider: Provider,
  status: number,
  error: UpstreamError | null,
  dialect?: DialectId,
) => FaultClass;
