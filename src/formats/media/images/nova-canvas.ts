import { isObject, type JsonObject, type JsonValue, listIn } from '../../../kernel/json.ts';
import { asNumber } from './as-number.ts';
import type { ImageFormat, ImageOrder } from './format.ts';
import { fieldsFor, unknownIn } from './losses.ts';
import { drawn, malformed, refusedContent } from './read-answer.ts';

/** Further members that callers may give, and their names there. */
const ofTask = { negative_prompt: 'negativeText' } as const;
const ofImages = { seed: 'seed', cfg_scale: 'cfgScale' } as const;
/** Description of the part to change, instead of a mask. */
const maskPrompt = 'mask_prompt';
const strength = 'strength';
/** To draw what is not masked, as `DEFAULT` or `PRECISE`: the background of what is. */
const outpainting = 'outpainting_mode';

/**
 * Amazon's Nova Canvas and Titan Image by Bedrock's InvokeModel. A picture with a mask or `mask_prompt` is changed there,
 * or around it; others are drawn anew after it.
 * https://docs.aws.amazon.com/nova/latest/userguide/image-gen-access.html
 */
export const novaCanvasImages: ImageFormat = {
  id: 'nova-canvas',
  encode(order) {
    const { count, request, source } = order;
    const { fields, losses } = fieldsFor(order);
    const known = [
      ...Object.keys({ ...ofTask, ...ofImages }),
      ...(source === null ? [] : [maskPrompt, strength, outpainting]),
    ];
    losses.push(...unknownIn(order, known));
    if (source?.mask && request.extra[maskPrompt] !== undefined) losses.push({ field: maskPrompt, why: 'unsupported' });
    const config: JsonObject = { numberOfImages: count, ...renamed(request.extra, ofImages) };
    if (fields.quality !== undefined) config.quality = fields.quality;
    const task = taskOf(order);
    if (task.taskType === 'TEXT_IMAGE' || task.taskType === 'IMAGE_VARIATION') Object.assign(config, request.size);
    else {
      // One picture is changed, and keeps its size.
      if (request.size !== null) losses.push({ field: 'size', why: 'unsupported' });
      if (source !== null && source.pictures.length > 1) losses.push({ field: 'image', why: 'narrowed' });
    }
    return { body: { ...task, imageGenerationConfig: config }, losses };
  },
  // Black is drawn anew inside of a mask, white outside of it.
  maskedAs: ({ extra }) => (extra[outpainting] === undefined ? 'black' : 'white'),
  decode(body) {
    if (!isObject(body)) return malformed('the answer is not an object');
    return drawn(listIn(body.images), typeof body.error === 'string' ? refusedContent(body.error) : null);
  },
};

function taskOf({ request, source }: ImageOrder): JsonObject {
  const { prompt, extra } = request;
  const taskParams = { text: prompt, ...renamed(extra, ofTask) };
  if (source === null) return { taskType: 'TEXT_IMAGE', textToImageParams: taskParams };
  const pictures = source.pictures.map(({ base64 }) => base64);
  if (source.mask !== null || extra[maskPrompt] !== undefined) {
    const where = source.mask === null ? { maskPrompt: extra[maskPrompt] } : { maskImage: source.mask.base64 };
    const params = { image: pictures[0], ...where, ...taskParams };
    const mode = extra[outpainting];
    return mode === undefined
      ? { taskType: 'INPAINTING', inPaintingParams: params }
      : { taskType: 'OUTPAINTING', outPaintingParams: { ...params, outPaintingMode: mode } };
  }
  const near = extra[strength];
  const params = { images: pictures, ...taskParams, ...(near !== undefined && { similarityStrength: asNumber(near) }) };
  return { taskType: 'IMAGE_VARIATION', imageVariationParams: params };
}

function renamed(extra: JsonObject, names: Readonly<Record<string, string>>): Record<string, JsonValue> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, theirs]) => {
      const value = extra[name];
      return value === undefined ? [] : [[theirs, name === 'negative_prompt' ? value : asNumber(value)]];
    }),
  );
}
