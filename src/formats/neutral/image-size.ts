/** In pixels. */
export interface ImageSize {
  width: number;
  height: number;
}

/** Sizes that a model makes. */
export type ImageSizes =
  /** Nobody here knows: it gets the caller's wish, and judges itself. */
  | { kind: 'any' }
  /** These alone, `<w>x<h>`. */
  | { kind: 'listed'; sizes: readonly string[] }
  /** Sides that are multiples of a number within bounds; `ratioMax`: of the longer side to the shorter. */
  | { kind: 'steps'; multipleOf: number; min: number; max: number; pixelsMax?: number; ratioMax?: number }
  /** It gets a ratio such as `16:9`, and makes its own size of it: that one, or null when nobody says. */
  | { kind: 'ratios'; ratios: Readonly<Record<string, string | null>> };

/** Width and height of about a million pixels, by their ratio: Google's sizes of 1K. */
export const sizesOfRatios: ReadonlyMap<string, readonly [width: number, height: number]> = new Map([
  ['1:1', [1024, 1024]],
  ['2:3', [832, 1248]],
  ['3:2', [1248, 832]],
  ['3:4', [864, 1184]],
  ['4:3', [1184, 864]],
  ['4:5', [896, 1152]],
  ['5:4', [1152, 896]],
  ['9:16', [768, 1344]],
  ['16:9', [1344, 768]],
  ['21:9', [1536, 672]],
]);

/** Sizes of one ratio, rounded as models prefer, are this near to it. */
const ratioTolerance = 0.03;

export function sizeText({ width, height }: ImageSize): string {
  return `${width}x${height}`;
}

/** Why a model cannot make a size, with the sizes that it makes; null when it can. */
export function whyNotSize(sizes: ImageSizes, size: ImageSize): string | null {
  switch (sizes.kind) {
    case 'any':
      return null;
    case 'listed':
      return sizes.sizes.includes(sizeText(size)) ? null : `makes ${sizes.sizes.join(', ')}`;
    case 'steps':
      return isOnSteps(sizes, size) ? null : stepsInWords(sizes);
    case 'ratios':
      return ratioOf(sizes.ratios, size) === null ? `makes the ratios ${Object.keys(sizes.ratios).join(', ')}` : null;
  }
}

/** The ratio that a size has, give or take some pixels; null when it has none of them. */
export function ratioOf(ratios: Readonly<Record<string, string | null>>, { width, height }: ImageSize): string | null {
  let nearest: string | null = null;
  let nearestBy = ratioTolerance;
  for (const ratio of Object.keys(ratios)) {
    const [across = 0, up = 0] = ratio.split(':').map(Number);
    const by = Math.abs(Math.log((width * up) / (height * across)));
    if (by <= nearestBy) {
      nearest = ratio;
      nearestBy = by;
    }
  }
  return nearest;
}

type Steps = Extract<ImageSizes, { kind: 'steps' }>;

function isOnSteps({ multipleOf, min, max, pixelsMax, ratioMax }: Steps, { width, height }: ImageSize): boolean {
  if ([width, height].some((side) => side % multipleOf !== 0 || side < min || side > max)) return false;
  if (pixelsMax !== undefined && width * height > pixelsMax) return false;
  return ratioMax === undefined || Math.max(width, height) <= ratioMax * Math.min(width, height);
}

function stepsInWords({ multipleOf, min, max, pixelsMax, ratioMax }: Steps): string {
  return [
    `makes sides of ${min} to ${max} pixels, multiples of ${multipleOf}`,
    ...(pixelsMax === undefined ? [] : [`at most ${pixelsMax} pixels in all`]),
    ...(ratioMax === undefined ? [] : [`the longer at most ${ratioMax} times the shorter`]),
  ].join(', ');
}
