import type { PageDocument, PageElement } from './page-document.ts';
import { absoluteLink, firstLinks, linksMax, onlyFirst } from './plain-text.ts';

/** Attributes that hold the address of a picture until a reader scrolls to it; `src` has a placeholder meanwhile, or nothing. */
const lazy = ['data-src', 'data-lazy-src', 'data-original'] as const;
/** Attributes with one address of a picture, and with several. */
const single = [
  ['img[src]', 'src'],
  ...lazy.map((name) => [`img[${name}]`, name] as const),
  ['input[type="image"][src]', 'src'],
  ['video[poster]', 'poster'],
  ['meta[property="og:image"]', 'content'],
  ['meta[name="twitter:image"]', 'content'],
  ['link[rel~="icon"]', 'href'],
] as const;
const several = [
  ['img[srcset]', 'srcset'],
  ['source[srcset]', 'srcset'],
] as const;

/** The address of the picture that a reader will see; null: none. */
export function pictureIn(image: PageElement): string | null {
  for (const name of [...lazy, 'src'] as const) {
    const address = image.getAttribute(name)?.trim() ?? '';
    if (address !== '' && !/^data:/i.test(address)) return address;
  }
  return candidatesIn(image.getAttribute('srcset') ?? image.getAttribute('data-srcset') ?? '')[0] ?? null;
}

/** Addresses of the pictures that a page shows, each once. Inlined ones have none. A cut list adds a warning. */
export function pageImages(document: PageDocument, base: string, warnings: string[]): string[] {
  const images = new Set<string>();
  const add = (address: string) => {
    const image = absoluteLink(address, base);
    if (image !== null && images.size <= linksMax) images.add(image);
  };
  for (const address of valuesOf(document, single)) if (address !== '') add(address);
  const srcsets = valuesOf(document, several);
  for (const srcset of srcsets) for (const address of candidatesIn(srcset)) add(address);
  if (srcsets.some(({ length }) => length > srcsetCharsMax)) {
    warnings.push(onlyFirst(srcsetCharsMax, 'characters of a srcset'));
  }
  return firstLinks(images, warnings, 'images');
}

function valuesOf(document: PageDocument, places: readonly (readonly [string, string])[]): string[] {
  return places.flatMap(([selector, attribute]) =>
    [...document.querySelectorAll(selector)].map((element) => element.getAttribute(attribute) ?? ''),
  );
}

/** `a.png 1x, b.png 2x`: addresses hold no blanks, and may hold commas. */
function candidatesIn(srcset: string): string[] {
  return (
    srcset
      .slice(0, srcsetCharsMax)
      // Runs would take the square of their length below.
      .replace(/\s+/g, ' ')
      .split(/, | [\d.]+[wxh] ?(?:,|$)/)
      .flatMap((part) => part.trim().split(/\s+/, 1))
      .filter((address) => address !== '')
  );
}

const srcsetCharsMax = 100_000;
