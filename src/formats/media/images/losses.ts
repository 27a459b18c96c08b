import type { JsonObject } from '../../../kernel/json.ts';
import type { ImageRequest } from '../../neutral/image.ts';
import { type ImageSize, type ImageSizes, ratioOf, sizeText } from '../../neutral/image-size.ts';
import { type Loss, lossesOfRest } from '../../neutral/loss.ts';
import type { EncodedImages, ImageField, ImageModelFacts, ImageOrder } from './format.ts';

/** Members that `fieldsFor` or each format takes, or that are seen to before one is asked. */
const taken: ReadonlySet<string> = new Set<keyof ImageRequest>([
  'model',
  'prompt',
  'n',
  'size',
  'quality',
  'style',
  'background',
  'moderation',
  'outputFormat',
  'outputCompression',
  'answerForm',
  'stream',
  'inputFidelity',
  'user',
  'extra',
]);

/** Optional fields for a model, in its words, and those that it has no place for. */
export function fieldsFor({ request, facts }: Pick<ImageOrder, 'request' | 'facts'>): {
  fields: Partial<Record<ImageField, string | number>>;
  losses: Loss[];
} {
  const fields: Partial<Record<ImageField, string | number>> = {};
  const losses = lossesOfRest(request, taken);
  for (const [field, value] of Object.entries(requestedFields(request)) as [ImageField, string | number | null][]) {
    if (value === null) continue;
    if (facts.takes !== 'all' && !facts.takes.includes(field)) {
      if (!isWhatComesAnyway(field, value, facts)) losses.push({ field, why: 'unsupported' });
      continue;
    }
    const sent = field === 'quality' ? qualityFor(facts.qualities, value as string) : value;
    if (sent !== null) fields[field] = sent;
  }
  return { fields, losses };
}

function requestedFields(request: ImageRequest): Record<ImageField, string | number | null> {
  return {
    quality: request.quality,
    style: request.style,
    background: request.background,
    moderation: request.moderation,
    output_format: request.outputFormat,
    output_compression: request.outputCompression,
    input_fidelity: request.inputFidelity,
    user: request.user,
  };
}

/**
 * These fields lose nothing when they are left out. For those that would, such as another format, routing has chosen
 * another target.
 */
function isWhatComesAnyway(field: ImageField, value: string | number, { outputs }: ImageModelFacts): boolean {
  if (value === 'auto') return true;
  if (field === 'background') return value === 'opaque';
  return field === 'output_format' && outputs !== undefined && outputs.some((one) => one === value);
}

/** Words of other models for the same wish, the nearest first. */
const sameQuality: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    max: ['xhigh', 'high', 'hd', 'premium'],
    xhigh: ['high', 'hd', 'premium'],
    high: ['hd', 'premium'],
    medium: ['standard'],
    low: ['standard'],
    hd: ['high', 'premium'],
    standard: ['medium'],
  }),
);

/** Null: its default is what was requested. */
function qualityFor(known: readonly string[] | undefined, quality: string): string | null {
  if (known === undefined || known.includes(quality)) return quality;
  return sameQuality.get(quality)?.find((word) => known.includes(word)) ?? null;
}

/** The ratio to ask for; a size that comes out otherwise than it was asked for is a loss. */
export function ratioFor(sizes: ImageSizes, size: ImageSize | null): { ratio: string | null; losses: Loss[] } {
  if (size === null || sizes.kind !== 'ratios') return { ratio: null, losses: [] };
  const ratio = ratioOf(sizes.ratios, size);
  const isExact = ratio !== null && sizes.ratios[ratio] === sizeText(size);
  return { ratio, losses: isExact ? [] : [{ field: 'size', why: 'clamped' }] };
}

/** The members that services of ratios share, and what is lost of the request. */
export function ratioBody(order: ImageOrder): EncodedImages {
  const { request, facts } = order;
  const { ratio, losses } = ratioFor(facts.sizes, request.size);
  const chosen = fieldsFor(order);
  const body: JsonObject = { ...request.extra, prompt: request.prompt, ...chosen.fields };
  if (ratio !== null) body.aspect_ratio = ratio;
  return { body, losses: [...chosen.losses, ...losses] };
}

/** Members that a format has no place for. */
export function unknownIn({ request }: Pick<ImageOrder, 'request'>, known: readonly string[] = []): Loss[] {
  return Object.keys(request.extra)
    .filter((field) => !known.includes(field))
    .map((field) => ({ field, why: 'unknown' }));
}
