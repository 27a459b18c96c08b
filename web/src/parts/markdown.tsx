// biome-ignore-all lint/suspicious/noArrayIndexKey: tokens have no identity but their place.
import type { Token, Tokens } from 'marked';
import { Fragment, memo, type ReactNode } from 'react';
import { Away } from './away.tsx';
import { Code } from './code.tsx';
import { tokensOf } from './markdown-tokens.ts';

/**
 * Markdown that others wrote. Elements are made from its tokens, so that HTML in it is text, links go to http, https and
 * mailto alone, and pictures of other places are links: nothing is loaded from there.
 */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const tokens = tokensOf(text);
  if (tokens === null) return <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>;
  return <div className="flex min-w-0 flex-col gap-2.5 [overflow-wrap:anywhere]">{blocks(tokens)}</div>;
});

const headings = ['text-lg', 'text-lg', 'text-base', 'text-base', 'text-sm', 'text-sm'];

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{block(token as Tokens.Generic)}</Fragment>);
}

function block(token: Tokens.Generic): ReactNode {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'code':
      return <Code text={token.text} label={token.lang ? `${token.lang} code` : 'Code'} />;
    case 'heading':
      return <p className={`font-semibold ${headings[token.depth - 1]}`}>{inline(token.tokens)}</p>;
    case 'hr':
      return <hr className="border-line" />;
    case 'blockquote':
      return (
        <blockquote className="flex flex-col gap-2 border-line-strong border-l-2 pl-3 text-muted">
          {blocks(token.tokens ?? [])}
        </blockquote>
      );
    case 'list':
      return list(token as Tokens.List);
    case 'table':
      return table(token as Tokens.Table);
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>;
    case 'text':
      return token.tokens === undefined ? token.text : inline(token.tokens);
    default:
      return <p className="whitespace-pre-wrap">{token.raw}</p>;
  }
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const children = items.map((item, at) => (
    <li key={at} className="pl-0.5">
      {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly disabled className="mr-1.5" />}
      <div className={item.loose ? 'flex flex-col gap-2' : item.task ? 'inline' : ''}>{blocks(item.tokens)}</div>
    </li>
  ));
  return ordered ? (
    <ol start={start === '' ? 1 : start} className="flex list-decimal flex-col gap-1 pl-6">
      {children}
    </ol>
  ) : (
    <ul className="flex list-disc flex-col gap-1 pl-5">{children}</ul>
  );
}

function table({ header, rows, align }: Tokens.Table): ReactNode {
  const side = (at: number) => (align[at] === 'right' ? 'text-right' : align[at] === 'center' ? 'text-center' : '');
  return (
    <div className="max-w-full overflow-x-auto rounded-md border border-line">
      <table className="w-full border-collapse text-left">
        <thead>
          <tr className="border-line border-b bg-ground">
            {header.map((cell, at) => (
              <th key={at} scope="col" className={`px-2.5 py-1 font-medium ${side(at)}`}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, line) => (
            <tr key={line} className="border-line border-b last:border-b-0">
              {row.map((cell, at) => (
                <td key={at} className={`px-2.5 py-1 ${side(at)}`}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, at) => <Fragment key={at}>{span(token as Tokens.Generic)}</Fragment>);
}

function span(token: Tokens.Generic): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong className="font-semibold">{inline(token.tokens)}</strong>;
    case 'em':
      return <em>{inline(token.tokens)}</em>;
    case 'del':
      return <del>{inline(token.tokens)}</del>;
    case 'codespan':
      return <code className="rounded bg-hover px-1 py-0.5 font-mono text-xs">{token.text}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Away href={token.href}>{inline(token.tokens)}</Away>;
    case 'image':
      return <Away href={token.href}>{token.text || token.href}</Away>;
    case 'text':
      return token.tokens === undefined ? token.text : inline(token.tokens);
    case 'escape':
      return token.text;
    default:
      return token.raw;
  }
}
