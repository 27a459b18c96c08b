import { isObject } from '../../kernel/json.ts';
import type { CategoryRule } from './openai-moderation.ts';
import { joined, listIn, type OutsideCheck } from './outside-check.ts';

/** Characters that one request takes, by its documentation. */
const charsMax = 10_000;
/** Severity from 0 to 7 from which a category counts. */
const severityDefault = 4;

/**
 * Azure AI Content Safety, `text:analyze` (learn.microsoft.com/rest/api/contentsafety/text-operations/analyze-text).
 */
export function azureContentSafety(
  endpoint: string,
  { categories, threshold = severityDefault }: CategoryRule,
): OutsideCheck {
  return ({ texts }) =>
    joined(texts, charsMax).map(({ text }) => ({
      url: `${endpoint}/contentsafety/text:analyze?api-version=2024-09-01`,
      body: {
        text,
        outputType: 'EightSeverityLevels',
        ...(categories !== undefined && { categories: [...categories] }),
      },
      read(answer) {
        const found = listIn(isObject(answer) ? answer.categoriesAnalysis : null, 'categoriesAnalysis');
        const hits = found.filter(({ severity }) => Number(severity) >= threshold);
        return { findings: hits.map(({ category }) => ({ kind: String(category), at: null })) };
      },
    }));
}
