import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { errorInside } from '../../dialects/forwarded/read-whole.ts';
import { sizeText } from '../../neutral/image-size.ts';
import { leaveOut } from '../../neutral/loss.ts';
import type { DecodedImage, EncodedImages, ImageFormat, ImageOrder, ImageTokens } from './format.ts';
import { fieldsFor, ratioFor } from './losses.ts';
import { countOf, malformed, noPicture, pictureIn } from './read-answer.ts';

/** OpenAI's format, which many took over; where models differ is in their `ImageModelFacts`. */
export const openAiImages: ImageFormat = { id: 'openai', encode, decode };

function encode(order: ImageOrder): EncodedImages {
  const { model, count, request, facts } = order;
  const { fields, losses } = fieldsFor(order);
  const body: JsonObject = { ...request.extra, model, prompt: request.prompt, n: count, ...fields };
  losses.push(...leaveOut(body, facts.without));
  // A link is what they all give unasked; those that cannot refuse the field.
  if (facts.gives === 'asked' && request.answerForm === 'b64_json') body.response_format = 'b64_json';
  const { size } = request;
  if (size === null) return { body, losses };
  if (facts.sizes.kind === 'ratios') {
    const ratio = ratioFor(facts.sizes, size);
    if (ratio.ratio !== null) body.aspect_ratio = ratio.ratio;
    return { body, losses: [...losses, ...ratio.losses] };
  }
  if (facts.sizeAs === 'sides') Object.assign(body, size);
  else body.size = sizeText(size);
  return { body, losses };
}

function decode(body: unknown): ReturnType<ImageFormat['decode']> {
  const error = errorInside(body);
  if (error !== null) return error;
  if (!isObject(body) || !Array.isArray(body.data)) return malformed("the answer has no 'data'");
  const images: DecodedImage[] = [];
  for (const one of body.data) {
    const image = isObject(one) ? imageIn(one) : null;
    if (image === null) return malformed('the answer holds an entry without a picture');
    images.push(image);
  }
  if (images.length === 0) return noPicture;
  // The event of a stream's finished image has them.
  const [first] = body.data;
  const holder = isObject(first) && typeof first.type === 'string' ? first : body;
  return { images, usage: tokensIn(holder.usage), reported: reportedIn(holder) };
}

function imageIn(one: JsonObject): DecodedImage | null {
  return pictureIn(one.b64_json, one.revised_prompt) ?? pictureIn(one.url, one.revised_prompt);
}

const reportedNames = ['background', 'output_format', 'quality', 'size', 'safety_identifier'] as const;

function reportedIn(body: JsonObject): JsonObject {
  const reported: JsonObject = {};
  for (const name of reportedNames) {
    const value = body[name];
    const charsMax = name === 'safety_identifier' ? 128 : 64;
    if (typeof value === 'string' && value !== '' && value.length <= charsMax) reported[name] = value;
  }
  if (isObject(body.svg_usage)) reported.svg_usage = svgUsageIn(body.svg_usage);
  return reported;
}

/** Tokens of the model that wrote an SVG, in addition to those of its picture. */
function svgUsageIn(usage: JsonObject): JsonObject {
  const members = ['input_tokens', 'output_tokens', 'reasoning_tokens', 'total_tokens'].map((name) => [
    name,
    countOf(usage, name) ?? 0,
  ]);
  return { model: typeof usage.model === 'string' ? usage.model.slice(0, 128) : '', ...Object.fromEntries(members) };
}

function tokensIn(usage: JsonValue | undefined): ImageTokens | null {
  if (!isObject(usage)) return null;
  const outputTokens = countOf(usage, 'output_tokens');
  // Seedream gives the output and the total alone.
  const whole = countOf(usage, 'total_tokens') ?? Number.NaN;
  const inputTokens = countOf(usage, 'input_tokens') ?? Math.max(0, whole - (outputTokens ?? 0));
  if (Number.isNaN(inputTokens) || outputTokens === null) return null;
  const { input_tokens_details: details, output_tokens_details: made } = usage;
  return {
    inputTokens,
    outputTokens,
    textTokens: countOf(details, 'text_tokens'),
    imageTokens: countOf(details, 'image_tokens'),
    ...(isObject(made) && {
      made: { textTokens: countOf(made, 'text_tokens') ?? 0, imageTokens: countOf(made, 'image_tokens') ?? 0 },
    }),
  };
}
