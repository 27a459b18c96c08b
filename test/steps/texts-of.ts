/** All strings of an answer, those of a place in one, so that a word is found however its stream is cut. */
export function textsOf(answer: string, stream: boolean): string {
  const values = answer.startsWith('{')
    ? [JSON.parse(answer)]
    : answer.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
  const texts = new Map<string, string>();
  const visit = (value: unknown, place: string): void => {
    if (typeof value === 'string') texts.set(place, (texts.get(place) ?? '') + value);
    else if (typeof value === 'object' && value !== null)
      for (const [name, one] of Object.entries(value)) visit(one, `${place}.${name}`);
  };
  for (const value of values) visit(value, '');
  return [...texts.values(), ...(stream ? [] : [answer])].join('\n');
}
