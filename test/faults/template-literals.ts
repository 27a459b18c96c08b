/** A template literal of a source. */
export interface TemplateLiteral {
  /** Its text, with a space in the place of what is inserted. */
  text: string;
  /** The code that is inserted. Literals in it are empty, and what these insert is in the list, too. */
  inserted: string[];
}

/** The template literals of a source in TypeScript, those inside of others too. */
export function templateLiterals(source: string): TemplateLiteral[] {
  const found: TemplateLiteral[] = [];
  readCode(source, 0, found);
  return found;
}

const beforeRegex = /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|void))\s*$/;
const regexForm = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/[\\\n])+\/[a-z]*/y;
const skippedForm = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y;

/** Reads code up to the brace that closes it, or the end. Returns the place of that, and the code. */
function readCode(source: string, from: number, found: TemplateLiteral[]): { end: number; code: string } {
  let code = '';
  let depth = 0;
  let at = from;
  while (at < source.length) {
    if (source[at] === '`') {
      at = readTemplate(source, at + 1, found);
      code += '``';
      continue;
    }
    if (source[at] === '{') depth += 1;
    if (source[at] === '}' && depth-- === 0) break;
    const isRegex = source[at] === '/' && beforeRegex.test(source.slice(Math.max(0, at - 40), at));
    const length = lengthOf(skippedForm, source, at) || (isRegex ? lengthOf(regexForm, source, at) : 0) || 1;
    code += source.slice(at, at + length);
    at += length;
  }
  return { end: at, code: code.trim() };
}

/** Reads a template literal from behind its first backtick. Returns the place behind its last one. */
function readTemplate(source: string, from: number, found: TemplateLiteral[]): number {
  const literal: TemplateLiteral = { text: '', inserted: [] };
  found.push(literal);
  let at = from;
  while (at < source.length && source[at] !== '`') {
    if (source.startsWith('${', at)) {
      const within = found.length;
      const { end, code } = readCode(source, at + 2, found);
      literal.inserted.push(code, ...found.slice(within).flatMap(({ inserted }) => inserted));
      literal.text += ' ';
      at = end + 1;
    } else {
      const length = source[at] === '\\' ? 2 : 1;
      literal.text += source.slice(at, at + length);
      at += length;
    }
  }
  return at + 1;
}

function lengthOf(form: RegExp, source: string, at: number): number {
  form.lastIndex = at;
  return form.exec(source)?.[0].length ?? 0;
}
