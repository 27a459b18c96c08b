import { type Failure, invalid } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, listIn, objectIn } from '../../../kernel/json.ts';
import type { MediaRequest } from './media-request.ts';

/** Default of Veo's models. */
const secondsDefault = 8;
const shorterSides: ReadonlyMap<unknown, number> = new Map([
  ['720p', 720],
  ['1080p', 1080],
  ['4k', 2160],
]);

/**
 * A request of `:predictLongRunning` as one of OpenAI's for a video. `maker`: Google makes the video, and gets the parameters
 * that OpenAI's format has no place for.
 */
export function videoRequestOf(written: JsonObject, model: string, maker: 'google' | 'others'): MediaRequest | Failure {
  const { instances, parameters } = written;
  const [instance, ...more] = listIn(instances);
  if (!isObject(instance) || typeof instance.prompt !== 'string') {
    return invalid('instances', '\'instances\' must be one object with a prompt, such as [{"prompt":"a cat"}].');
  }
  const { prompt, image, ...unsaid } = instance;
  const { aspectRatio, resolution, durationSeconds, sampleCount, ...rest } = objectIn(parameters);
  if (sampleCount != null && sampleCount !== 1) {
    return invalid('parameters.sampleCount', "'parameters.sampleCount': one video is made a call. Leave it out.");
  }
  const picture = pictureOf(image);
  if (picture === undefined) {
    const message = "'instances[0].image' must have 'bytesBase64Encoded' and 'mimeType'.";
    return invalid('instances[0].image', message);
  }
  const size = sizeOf(aspectRatio, resolution);
  if (size === undefined) {
    const message = "'parameters.aspectRatio' must be 16:9 or 9:16, and 'parameters.resolution' 720p, 1080p or 4k.";
    return invalid('parameters.aspectRatio', message);
  }
  const others = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null));
  return {
    body: {
      ...(maker === 'google' && others),
      model,
      prompt,
      seconds: durationSeconds ?? secondsDefault,
      ...(size !== null && { size }),
      ...(picture !== null && { input_reference: { image_url: picture } }),
    },
    lost: [
      ...(more.length > 0 ? ['instances'] : []),
      ...Object.keys(unsaid).flatMap((name) => (unsaid[name] == null ? [] : [`instances.${name}`])),
      ...(maker === 'google' ? [] : Object.keys(others).map((name) => `parameters.${name}`)),
    ],
  };
}

/** A data URL; null: there is none; undefined: it is no picture. */
function pictureOf(image: unknown): string | null | undefined {
  if (image === undefined || image === null) return null;
  if (!isObject(image)) return undefined;
  const { bytesBase64Encoded, mimeType, inlineData } = image;
  const inline = objectIn(inlineData);
  const [base64, type] = [bytesBase64Encoded ?? inline.data, mimeType ?? inline.mimeType];
  return typeof base64 === 'string' && typeof type === 'string' ? `data:${type};base64,${base64}` : undefined;
}

/** Null: the request leaves it to the model; undefined: it is none that Veo's words have. */
function sizeOf(aspectRatio: unknown, resolution: unknown): string | null | undefined {
  if (aspectRatio == null && resolution == null) return null;
  const side = shorterSides.get(resolution ?? '720p');
  const shape = aspectRatio ?? '16:9';
  if (side === undefined || (shape !== '16:9' && shape !== '9:16')) return undefined;
  const longer = Math.round((side * 16) / 9);
  return shape === '16:9' ? `${longer}x${side}` : `${side}x${longer}`;
}
