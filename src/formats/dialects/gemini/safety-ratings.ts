import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** Azure's categories of content by Google's, for those that both have. */
const categories = {
  hate: 'HARM_CATEGORY_HATE_SPEECH',
  sexual: 'HARM_CATEGORY_SEXUALLY_EXPLICIT',
  violence: 'HARM_CATEGORY_DANGEROUS_CONTENT',
  self_harm: 'HARM_CATEGORY_DANGEROUS_CONTENT',
} as const;

const probabilities: readonly (readonly [severity: string, probability: string])[] = [
  ['safe', 'NEGLIGIBLE'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
];

/**
 * Azure's `content_filter_results`, or several of them, as Google's `safetyRatings`, the worst finding of a category
 * first. `lost`: it found something that has no category there, such as a jailbreak.
 */
export function safetyRatings(findings: readonly JsonValue[]): { ratings: JsonObject[]; lost: boolean } {
  const worst = new Map<string, { severity: number; blocked: boolean }>();
  let lost = false;
  for (const finding of findings) {
    for (const [name, found] of Object.entries(isObject(finding) ? finding : {})) {
      const severity = isObject(found) ? probabilities.findIndex(([word]) => word === found.severity) : -1;
      if (!isObject(found) || severity < 0 || !Object.hasOwn(categories, name)) {
        lost ||= isObject(found) && (found.filtered === true || found.detected === true);
        continue;
      }
      const category = categories[name as keyof typeof categories];
      const before = worst.get(category) ?? { severity: 0, blocked: false };
      worst.set(category, {
        severity: Math.max(before.severity, severity),
        blocked: before.blocked || found.filtered === true,
      });
    }
  }
  const ratings = [...worst].map(([category, { severity, blocked }]) => ({
    category,
    probability: probabilities[severity]?.[1],
    ...(blocked && { blocked }),
  }));
  return { ratings, lost };
}
