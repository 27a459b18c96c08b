import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { ratioOf, sizesOfRatios, sizeText, whyNotSize } from '../../neutral/image-size.ts';
import type { ImageModelFacts } from '../images/format.ts';
import { invalidMediaField, type MediaKind, unknownMediaFields } from './request-checks.ts';

/** A call of the AI SDK as a body of OpenAI's format, which the families take, and what that cannot say. */
export interface ConvertedCall {
  body: JsonObject;
  /** Fields of the caller that were left out, in its words. */
  lost: readonly string[];
}

/** The same of a transcription: the fields of a form, and its file. */
export interface ConvertedTranscription {
  fields: readonly { name: string; value: string }[];
  audioBase64: string;
  mediaType: string | null;
  lost: readonly string[];
}

/** Options of vendors that have a field in OpenAI's format, by their path below `providerOptions`. */
type Options = Readonly<Record<string, string>>;

const userOption = { 'gateway.user': 'user' };
const imageOptions: Options = {
  ...userOption,
  'openai.quality': 'quality',
  'openai.style': 'style',
  'openai.background': 'background',
  'openai.moderation': 'moderation',
  'openai.outputFormat': 'output_format',
  'openai.outputCompression': 'output_compression',
  'openai.inputFidelity': 'input_fidelity',
  'openai.user': 'user',
};
const speechOptions: Options = { ...userOption, 'openai.instructions': 'instructions', 'openai.speed': 'speed' };
const transcriptionOptions: Options = {
  ...userOption,
  'openai.language': 'language',
  'openai.prompt': 'prompt',
  'openai.temperature': 'temperature',
  'openai.responseFormat': 'response_format',
  'openai.timestampGranularities': 'timestamp_granularities',
  'openai.include': 'include',
};

/** A call of `image-model`. `targets`: those of the model that draw, which decide the size of an aspect ratio. */
export function imageCallOf(
  body: JsonObject,
  model: string,
  targets: readonly ImageModelFacts[],
): ConvertedCall | Failure {
  const wrong = invalidMediaField('image', body);
  if (wrong !== null) return wrong;
  const { prompt, n, size, aspectRatio, seed, files, mask } = body;
  const options = optionsIn(body, imageOptions);
  const lost = [...unknownMediaFields('image', body), ...options.lost];
  const shaped = size == null && typeof aspectRatio === 'string' ? sizeOfRatio(aspectRatio, targets) : null;
  if (aspectRatio != null && shaped === null) lost.push('aspectRatio');
  // OpenAI's models of known names refuse a field that they do not know.
  const refusesSeed = targets.every(({ format, takes }) => format === 'openai' && takes !== 'all');
  if (seed != null && refusesSeed) lost.push('seed');
  return {
    body: {
      model,
      prompt,
      n: n ?? 1,
      response_format: 'b64_json',
      ...options.fields,
      ...((size ?? shaped) != null && { size: size ?? shaped }),
      ...(seed != null && !refusesSeed && { seed }),
      ...(Array.isArray(files) && { images: files.map(pictureOf) }),
      ...(Array.isArray(files) && mask != null && { mask: pictureOf(mask) }),
    },
    lost: Array.isArray(files) || mask == null ? lost : [...lost, 'mask'],
  };
}

/** A call of `speech-model`. Its formats are those of OpenAI. */
export function speechCallOf(body: JsonObject, model: string): ConvertedCall | Failure {
  const wrong = invalidMediaField('speech', body);
  if (wrong !== null) return wrong;
  const { text, voice, outputFormat, instructions, speed, language } = body;
  const options = optionsIn(body, speechOptions);
  return {
    body: {
      model,
      input: text,
      voice: voice ?? 'alloy',
      response_format: outputFormat ?? 'mp3',
      ...options.fields,
      ...(instructions != null && { instructions }),
      ...(speed != null && { speed }),
    },
    lost: [...unknownMediaFields('speech', body), ...options.lost, ...(language == null ? [] : ['language'])],
  };
}

/** A call of `transcription-model`. `times`: all targets of the model give the times of segments. */
export function transcriptionCallOf(
  body: JsonObject,
  model: string,
  times: 'given' | 'none',
): ConvertedTranscription | Failure {
  const wrong = invalidMediaField('transcription', body);
  if (wrong !== null) return wrong;
  const { audio, mediaType } = body;
  const { fields: options, lost } = optionsIn(body, transcriptionOptions);
  const needsTimes = Array.isArray(options.timestamp_granularities) && options.timestamp_granularities.length > 0;
  const format = options.response_format ?? (needsTimes || times === 'given' ? 'verbose_json' : 'json');
  if (format !== 'json' && format !== 'verbose_json' && format !== 'diarized_json') {
    const field = 'providerOptions.openai.responseFormat';
    return invalid(field, `'${field}' must be 'json', 'verbose_json' or 'diarized_json'.`);
  }
  const fields: { name: string; value: string }[] = [];
  for (const [name, value] of Object.entries({ ...options, model, response_format: format })) {
    for (const one of [value].flat()) {
      if (typeof one === 'object') {
        const field = pathsByField(transcriptionOptions)[name]!;
        return invalid(field, `'${field}' must be a text, a number or a list of texts.`);
      }
      fields.push({ name: Array.isArray(value) ? `${name}[]` : name, value: String(one) });
    }
  }
  return {
    fields,
    audioBase64: String(audio),
    mediaType: typeof mediaType === 'string' ? mediaType : null,
    lost: [...unknownMediaFields('transcription', body), ...lost],
  };
}

/** A call of `reranking-model`. Objects are ranked as their JSON, and the answer has a warning of that. */
export function rerankCallOf(body: JsonObject, model: string): ConvertedCall | Failure {
  const wrong = invalidMediaField('reranking', body);
  if (wrong !== null) return wrong;
  const { documents, query, topN } = body;
  const { values } = documents as { values: JsonValue[] };
  const options = optionsIn(body, userOption);
  return {
    body: {
      model,
      query,
      documents: values.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))),
      ...(topN != null && { top_n: topN }),
      ...options.fields,
    },
    lost: [...unknownMediaFields('reranking', body), ...options.lost],
  };
}

/** True if the documents of a call are objects. */
export function ranksObjects({ documents }: JsonObject): boolean {
  return isObject(documents) && documents.type === 'object';
}

/** A call of `video-model`. `maker`: Google makes it, and gets what OpenAI's format has no place for. */
export function videoCallOf(body: JsonObject, model: string, maker: 'google' | 'others'): ConvertedCall | Failure {
  const wrong = invalidMediaField('video', body);
  if (wrong !== null) return wrong;
  const { prompt, n, aspectRatio, resolution, duration, fps, seed, generateAudio, callbackUrl } = body;
  if (n != null && n !== 1) return invalid('n', "'n': one video is made a call. Make a call for each video.");
  if (callbackUrl != null) {
    return invalid('callbackUrl', "'callbackUrl': nobody is called when a video is ready. Send 'poll' instead.");
  }
  const options = optionsIn(body, userOption);
  const lost = [...unknownMediaFields('video', body), ...options.lost, ...(fps == null ? [] : ['fps'])];
  const size = resolution ?? videoSizes.get(aspectRatio);
  if (aspectRatio != null && (resolution != null || size === undefined)) lost.push('aspectRatio');
  const parameters = Object.fromEntries(
    Object.entries({ seed, generateAudio }).flatMap(([name, value]) => (value == null ? [] : [[name, value]])),
  );
  if (maker === 'others') lost.push(...Object.keys(parameters));
  const picture = firstPictureOf(body);
  return {
    body: {
      ...(maker === 'google' && parameters),
      model,
      prompt,
      ...options.fields,
      ...(duration != null && { seconds: duration }),
      ...(size !== undefined && { size }),
      ...(picture.first !== null && { input_reference: picture.first }),
    },
    lost: [...lost, ...picture.lost],
  };
}

const videoSizes: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ['16:9', '1280x720'],
  ['9:16', '720x1280'],
]);

/** The picture that the video begins with, and the fields of all others. */
function firstPictureOf({ image, frameImages, inputReferences }: JsonObject): {
  first: JsonObject | null;
  lost: string[];
} {
  const frames = Array.isArray(frameImages) ? frameImages.filter(isObject) : [];
  const references = Array.isArray(inputReferences) ? inputReferences : [];
  const named: { field: string; picture: JsonValue; begins: boolean }[] = [
    ...(image == null ? [] : [{ field: 'image', picture: image, begins: true }]),
    ...frames.map(({ image: picture = null, frameType }, at) => ({
      field: `frameImages[${at}]`,
      picture,
      begins: frameType === 'first_frame',
    })),
    ...references.map((picture, at) => ({ field: `inputReferences[${at}]`, picture, begins: true })),
  ];
  const first = named.find(({ begins }) => begins);
  const lost = named.filter((one) => one !== first).map(({ field }) => field);
  return { first: first === undefined ? null : pictureOf(first.picture), lost };
}

function pictureOf(file: JsonValue): JsonObject {
  const { type, url, data, mediaType } = isObject(file) ? file : {};
  if (type === 'url') return { image_url: url };
  return { image_url: `data:${typeof mediaType === 'string' ? mediaType : 'image/png'};base64,${String(data)}` };
}

/** Options with a field of OpenAI's format, and the paths of all others that say something. */
function optionsIn({ providerOptions }: JsonObject, known: Options): { fields: JsonObject; lost: string[] } {
  const fields: JsonObject = {};
  const lost: string[] = [];
  for (const [vendor, options] of Object.entries(isObject(providerOptions) ? providerOptions : {})) {
    for (const [name, value] of Object.entries(isObject(options) ? options : {})) {
      if (value === null) continue;
      const path = `${vendor}.${name}`;
      const field = Object.hasOwn(known, path) ? known[path] : undefined;
      if (field === undefined) lost.push(`providerOptions.${path}`);
      else fields[field] = value;
    }
  }
  return { fields, lost };
}

/** A size of this ratio that one of the targets makes; null: none does. */
function sizeOfRatio(ratio: string, targets: readonly ImageModelFacts[]): string | null {
  for (const { sizes } of targets) {
    if (sizes.kind === 'listed') {
      const size = sizes.sizes.find((one) => {
        const [width = 0, height = 0] = one.split('x').map(Number);
        return ratioOf({ [ratio]: null }, { width, height }) !== null;
      });
      if (size !== undefined) return size;
      continue;
    }
    const [width, height] = sizesOfRatios.get(ratio) ?? [];
    if (width === undefined || height === undefined) continue;
    if (whyNotSize(sizes, { width, height }) === null) return sizeText({ width, height });
  }
  return null;
}

/** Fields of OpenAI's format in the words of the AI SDK. */
export const mediaWords: Readonly<Record<MediaKind, Readonly<Record<string, string>>>> = {
  image: { ...pathsByField(imageOptions), images: 'files', size: 'size' },
  speech: {
    ...pathsByField(speechOptions),
    input: 'text',
    response_format: 'outputFormat',
    instructions: 'instructions',
  },
  transcription: { ...pathsByField(transcriptionOptions), file: 'audio' },
  reranking: { ...pathsByField(userOption), top_n: 'topN' },
  video: { ...pathsByField(userOption), seconds: 'duration', size: 'resolution', input_reference: 'image' },
};

function pathsByField(options: Options): Record<string, string> {
  return Object.fromEntries(Object.entries(options).map(([path, field]) => [field, `providerOptions.${path}`]));
}
