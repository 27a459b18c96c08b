import { Parser } from 'htmlparser2';

/** Beyond either bound every library of documents hangs, or overflows its stack. */
export const depthMax = 400;
export const nodesMax = 150_000;

/** A page of which no document may be built. */
export class UnfitPage extends Error {}

/** Facts of a page's tags that a document is made by. */
export interface PageTags {
  /** `head` and `body`, as far as they are there. */
  roots: ReadonlySet<string>;
  /** There are capitals in names of attributes. */
  capitals: boolean;
}

/** A first look that costs little: whether a document of this text is safe to build. Throws `UnfitPage`. */
export function scanHtml(html: string): PageTags {
  let depth = 0;
  let nodes = 0;
  let attributes = 0;
  const roots = new Set<string>();
  let capitals = false;
  const stop = (reason: string) => {
    throw new UnfitPage(reason);
  };
  const parser = new Parser(
    {
      onopentag(name) {
        if (name === 'head' || name === 'body') roots.add(name);
        depth += 1;
        nodes += 1;
        if (depth > depthMax) stop(`its elements are nested more than ${depthMax} deep`);
        else if (nodes > nodesMax) stop(`it has more than ${nodesMax} elements and texts`);
      },
      onattribute(name) {
        attributes += 1;
        capitals ||= name !== name.toLowerCase();
        if (attributes > nodesMax * 4) stop(`it has more than ${nodesMax * 4} attributes`);
      },
      onclosetag() {
        depth -= 1;
      },
      ontext() {
        nodes += 1;
        if (nodes > nodesMax) stop(`it has more than ${nodesMax} elements and texts`);
      },
    },
    { lowerCaseAttributeNames: false },
  );
  parser.write(html);
  return { roots, capitals };
}
