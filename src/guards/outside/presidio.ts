import type { CategoryRule } from './openai-moderation.ts';
import { BadAnswer, joined, listIn, type OutsideCheck, unitsBefore } from './outside-check.ts';

/** Presidio's analyzer answers longer texts too slowly for a deadline. */
const charsMax = 20_000;

/** The analyzer of Presidio, `/analyze` (microsoft.github.io/presidio/api-docs). It counts code points, as Python does. */
export function presidio(
  baseUrl: string,
  { categories, threshold, language }: CategoryRule & { language: string },
): OutsideCheck {
  const options = {
    language,
    ...(categories !== undefined && { entities: [...categories] }),
    ...(threshold !== undefined && { score_threshold: threshold }),
  };
  return ({ texts }) =>
    joined(texts, charsMax).map(({ text, place }) => ({
      url: `${baseUrl}/analyze`,
      body: { text, ...options },
      read(answer) {
        const findings = listIn(answer, 'of entities').flatMap(({ entity_type: kind, start, end }) => {
          if (!Number.isInteger(start) || !Number.isInteger(end)) throw new BadAnswer('an entity has no place');
          const at = place(unitsBefore(text, Number(start)), unitsBefore(text, Number(end)));
          return at === null ? [] : [{ kind: String(kind), at }];
        });
        return { findings };
      },
    }));
}
