/** Features of Chat v2 that a model accepts, by its id (https://docs.cohere.com/docs/models). */
export interface ModelRules {
  /** `thinking`, and thoughts among the content; older models only plan their tool calls. */
  thinks: boolean;
}

/** Models before Command A Reasoning do not think. */
const plain = /^(?:command(?:-light|-nightly|-r|-r-.*|-r7b.*|-a-03-.*|-a-vision.*|-a-translate.*)?|c4ai-.*|.*\baya.*)$/;

export function rulesOf(model: string): ModelRules {
  return { thinks: !plain.test(model.toLowerCase()) };
}
