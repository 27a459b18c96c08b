import { type Failure, invalid } from '../../../kernel/failure.ts';
import {
  isObject,
  isWhole,
  type JsonObject,
  type JsonValue,
  listIn,
  objectsIn,
  stringOr,
} from '../../../kernel/json.ts';
import { asInReference } from '../../dialects/gemini/read-request.ts';
import { uploadOfUri } from '../../dialects/named-objects.ts';
import { sizesOfRatios } from '../../neutral/image-size.ts';

/** A request for sound or pictures in OpenAI's format, which the families of both take, and what that cannot say. */
export interface MediaRequest {
  body: JsonObject;
  /** Fields of the caller, in Google's words. */
  lost: readonly string[];
}

const samplesAtOnceMax = 10;

/** Text for a model that speaks: the texts of the last content, in the style of the instructions. */
export function speechRequestOf(written: JsonObject, model: string): MediaRequest | Failure {
  const { contents, systemInstruction, generationConfig, others } = membersOf(written);
  const config = generationConfig ?? {};
  const field = 'generationConfig.responseModalities';
  const modalities = textsOf(config.responseModalities);
  if (modalities.length !== 1 || modalities[0] !== 'AUDIO') {
    return invalid(field, `The model '${model}' speaks and does nothing else. Send '${field}': ["AUDIO"].`);
  }
  const { speechConfig, responseModalities: _, candidateCount: __, ...rest } = config;
  const speech = isObject(speechConfig) ? speechConfig : {};
  if (speech.multiSpeakerVoiceConfig != null) {
    const place = 'generationConfig.speechConfig.multiSpeakerVoiceConfig';
    return invalid(
      place,
      `'${place}': the model '${model}' has one voice an answer. Send 'voiceConfig', or ask for each speaker.`,
    );
  }
  const voiceConfig = isObject(speech.voiceConfig) ? speech.voiceConfig : {};
  const voice = isObject(voiceConfig.prebuiltVoiceConfig) ? voiceConfig.prebuiltVoiceConfig.voiceName : undefined;
  const last = contents.at(-1);
  const input = last === undefined ? '' : textOf(last);
  if (input.trim() === '') return invalid('contents', "The last of 'contents' has no text to speak.");
  const instructions = systemInstruction === null ? '' : textOf(systemInstruction);
  return {
    body: {
      model,
      input,
      voice: typeof voice === 'string' && voice !== '' ? voice : 'alloy',
      response_format: 'pcm',
      stream_format: 'sse',
      ...(instructions !== '' && { instructions }),
    },
    lost: [
      ...(contents.length > 1 ? ['contents'] : []),
      ...Object.keys(others),
      ...within('generationConfig', rest),
      ...(speech.languageCode == null ? [] : ['generationConfig.speechConfig.languageCode']),
    ],
  };
}

/** Prompt for a model that draws, or that changes pictures among the contents. */
export function pictureRequestOf(written: JsonObject, model: string): MediaRequest | Failure {
  const { contents, systemInstruction, generationConfig, others } = membersOf(written);
  const { responseModalities, imageConfig, candidateCount, ...rest } = generationConfig ?? {};
  const field = 'generationConfig.responseModalities';
  const modalities = textsOf(responseModalities);
  if (modalities.length > 0 && !modalities.includes('IMAGE')) {
    return invalid(field, `The model '${model}' draws and does nothing else. Send '${field}': ["IMAGE"].`);
  }
  const last = contents.at(-1);
  const texts = [systemInstruction === null ? '' : textOf(systemInstruction), last === undefined ? '' : textOf(last)];
  const prompt = texts.filter((text) => text !== '').join('\n\n');
  const images = contents.flatMap((content) => objectsIn(content.parts).flatMap(pictureIn));
  const { size, unsaid } = sizeOf(isObject(imageConfig) ? imageConfig : {});
  return {
    body: {
      model,
      prompt,
      response_format: 'b64_json',
      n: typeof candidateCount === 'number' ? candidateCount : 1,
      ...(size !== null && { size }),
      ...(images.length > 0 && { images }),
    },
    lost: [
      ...(contents.slice(0, -1).some((content) => textOf(content) !== '') ? ['contents'] : []),
      ...Object.keys(others),
      ...within('generationConfig', rest),
      ...within('generationConfig.imageConfig', Object.fromEntries(unsaid.map((name) => [name, true]))),
    ],
  };
}

/** Imagen's method: `instances[0].prompt`, and `parameters`. */
export function predictedPicturesOf(written: JsonObject, model: string): MediaRequest | Failure {
  const { instances, parameters } = written;
  const [instance, ...more] = Array.isArray(instances) ? instances : [];
  if (!isObject(instance) || typeof instance.prompt !== 'string') {
    return invalid('instances', '\'instances\' must be one object with a prompt, such as [{"prompt":"a cat"}].');
  }
  const given = isObject(parameters) ? parameters : {};
  const { sampleCount, aspectRatio, sampleImageSize, outputOptions, ...rest } = given;
  const count = sampleCount ?? 1;
  if (!isWhole(count, 1, samplesAtOnceMax)) {
    const message = `'parameters.sampleCount' must be a whole number from 1 to ${samplesAtOnceMax}.`;
    return invalid('parameters.sampleCount', message);
  }
  const { size, unsaid } = sizeOf({ aspectRatio, imageSize: sampleImageSize });
  const output = isObject(outputOptions) ? outputOptions : {};
  const { mimeType, compressionQuality, ...outputRest } = output;
  const format = /^image\/(png|jpeg|webp)$/.exec(stringOr(mimeType, ''))?.[1];
  return {
    body: {
      model,
      prompt: instance.prompt,
      response_format: 'b64_json',
      n: count,
      ...(size !== null && { size }),
      ...(format !== undefined && { output_format: format }),
      ...(typeof compressionQuality === 'number' && { output_compression: compressionQuality }),
    },
    lost: [
      ...(more.length > 0 ? ['instances'] : []),
      ...within('instances', Object.fromEntries(Object.entries(instance).filter(([name]) => name !== 'prompt'))),
      ...within('parameters', rest),
      ...within(
        'parameters.outputOptions',
        format === undefined && mimeType != null ? { mimeType, ...outputRest } : outputRest,
      ),
      ...unsaid.map((name) => `parameters.${name === 'imageSize' ? 'sampleImageSize' : name}`),
    ],
  };
}

interface Members {
  contents: readonly JsonObject[];
  systemInstruction: JsonObject | null;
  generationConfig: JsonObject | null;
  /** Members that neither family knows. */
  others: JsonObject;
}

function membersOf(written: JsonObject): Members {
  const {
    contents,
    systemInstruction,
    generationConfig,
    safetySettings: _,
    labels: __,
    model: ___,
    ...others
  } = asInReference(written);
  const given = Object.entries(others).filter(([, value]) => value !== null);
  return {
    contents: objectsIn(contents),
    systemInstruction: isObject(systemInstruction) ? systemInstruction : null,
    generationConfig: isObject(generationConfig) ? generationConfig : null,
    others: Object.fromEntries(given),
  };
}

function textOf(content: JsonObject): string {
  return objectsIn(content.parts)
    .flatMap(({ text, thought }) => (typeof text === 'string' && thought !== true ? [text] : []))
    .join('\n');
}

function pictureIn({ inlineData, fileData }: JsonObject): JsonObject[] {
  if (isObject(inlineData) && typeof inlineData.data === 'string') {
    const base64 = inlineData.data.replaceAll('-', '+').replaceAll('_', '/');
    return [{ image_url: `data:${stringOr(inlineData.mimeType, 'image/png')};base64,${base64}` }];
  }
  if (!isObject(fileData) || typeof fileData.fileUri !== 'string') return [];
  const upload = uploadOfUri(fileData.fileUri);
  return [upload === null ? { image_url: fileData.fileUri } : { file_id: upload }];
}

const timesLarger: ReadonlyMap<string, number> = new Map([
  ['1K', 1],
  ['2K', 2],
  ['4K', 4],
]);

/** Size of the picture, null where the request leaves it to the model; and the fields that no size says. */
function sizeOf(config: JsonObject): { size: string | null; unsaid: string[] } {
  const { aspectRatio, imageSize, ...others } = config;
  const shape = sizesOfRatios.get(stringOr(aspectRatio, ''));
  const times = timesLarger.get(stringOr(imageSize, ''));
  const unsaid = Object.keys(others);
  if (aspectRatio != null && shape === undefined) unsaid.push('aspectRatio');
  if (imageSize != null && times === undefined) unsaid.push('imageSize');
  if (shape === undefined && times === undefined) return { size: null, unsaid };
  const [width, height] = (shape ?? [1024, 1024]).map((side) => side * (times ?? 1));
  return { size: `${width}x${height}`, unsaid };
}

function textsOf(value: JsonValue | undefined): string[] {
  return listIn(value).filter((one) => typeof one === 'string' && one !== 'MODALITY_UNSPECIFIED') as string[];
}

function within(place: string, members: JsonObject): string[] {
  return Object.entries(members).flatMap(([name, value]) => (value == null ? [] : [`${place}.${name}`]));
}
