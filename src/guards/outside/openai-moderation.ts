import { isObject } from '../../kernel/json.ts';
import { BadAnswer, listIn, type OutsideCheck } from './outside-check.ts';

/** Categories that count, absent: all; and the score from which they do, absent: what the service flags. */
export interface CategoryRule {
  categories: readonly string[] | undefined;
  threshold: number | undefined;
}

/** OpenAI's moderations (platform.openai.com/docs/api-reference/moderations), one result for each text. */
export function openAiModeration(
  baseUrl: string,
  { categories, threshold }: CategoryRule,
  model = 'omni-moderation-latest',
): OutsideCheck {
  const counts = (category: string) => categories === undefined || categories.includes(category);
  return ({ texts }) => [
    {
      url: `${baseUrl}/moderations`,
      body: { model, input: texts.map(({ text }) => text) },
      read(answer) {
        const results = listIn(isObject(answer) ? answer.results : null, 'results');
        if (results.length !== texts.length) throw new BadAnswer('its answer has not a result for each text');
        const found = results.flatMap(({ categories: flags, category_scores: scores }) => {
          const by = threshold === undefined ? flags : scores;
          if (typeof by !== 'object' || by === null) throw new BadAnswer('a result of its answer has no categories');
          const hits = ([category, value]: [string, unknown]) =>
            counts(category) && (threshold === undefined ? value === true : Number(value) >= threshold);
          return Object.entries(by).filter(hits);
        });
        return { findings: found.map(([kind]) => ({ kind, at: null })) };
      },
    },
  ];
}
