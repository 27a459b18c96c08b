import { Lexer, type Token } from 'marked';

/** Longer texts are shown unformatted: a parser must not hold the page up. */
const charactersMax = 200_000;
/** For each of them, the parser looks at all others of its paragraph. More are shown as they are. */
const emphasisMax = 500;

/** Tokens of Markdown that others wrote, within a time that nobody notices; null: it is to be shown as it is. */
export function tokensOf(text: string): Token[] | null {
  if (text.length > charactersMax) return null;
  try {
    return new BoundedLexer({ gfm: true, breaks: true }).lex(text);
  } catch {
    // Nested deeper than the parser's stack.
    return null;
  }
}

class BoundedLexer extends Lexer {
  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    if ((text.match(/[*_]/g)?.length ?? 0) <= emphasisMax) return super.inlineTokens(text, tokens);
    tokens.push({ type: 'text', raw: text, text });
    return tokens;
  }
}
