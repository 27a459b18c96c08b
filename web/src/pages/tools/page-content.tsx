import { type ReactNode, useState } from 'react';
import { Away } from '../../parts/away.tsx';
import { classes } from '../../parts/classes.ts';
import { Code } from '../../parts/code.tsx';
import { Segments } from '../../parts/controls.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { Fact, Facts } from '../../parts/page.tsx';
import type { ScrapedPage } from './tool-answers.ts';

/** Listed at once; a page may have thousands. */
const linksShownMax = 500;

/** A page that was read, one of its formats at a time, next to its screenshot where there is one. */
export function PageContent({ page, warning }: { page: ScrapedPage; warning?: string }) {
  const views = viewsOf(page);
  const [chosen, setChosen] = useState('');
  const view = views.find(({ value }) => value === chosen) ?? views[0]!;
  return (
    <div className="flex min-w-0 flex-col items-start gap-3 [&>div]:w-full">
      {warning !== undefined && <Note tone="warn">{warning}</Note>}
      <div className="overflow-x-auto">
        <Segments label="Format" value={view.value} options={views} onValue={setChosen} />
      </div>
      <div className="@container min-w-0">
        <div className={classes('grid items-start gap-4', page.screenshot !== undefined && '@xl:grid-cols-2')}>
          <div className="min-w-0">{view.content()}</div>
          {page.screenshot !== undefined && (
            <img
              src={page.screenshot}
              alt="The page as a browser shows it"
              className="max-w-full rounded-md border border-line"
            />
          )}
        </div>
      </div>
    </div>
  );
}

interface View {
  value: string;
  label: string;
  content: () => ReactNode;
}

function viewsOf(page: ScrapedPage): View[] {
  const { markdown, text, html, rawHtml, summary, links, images, metadata } = page;
  const code = (label: string, value: string) => () => <Code text={value} label={label} wrap />;
  const views: (View | false)[] = [
    markdown !== undefined && { value: 'markdown', label: 'Page', content: () => <Markdown text={markdown} /> },
    markdown !== undefined && { value: 'source', label: 'Markdown', content: code('Markdown', markdown) },
    summary !== undefined && { value: 'summary', label: 'Summary', content: () => <Markdown text={summary} /> },
    text !== undefined && { value: 'text', label: 'Text', content: code('Text', text) },
    html !== undefined && { value: 'html', label: 'HTML', content: code('HTML', html) },
    rawHtml !== undefined && { value: 'rawHtml', label: 'Raw HTML', content: code('Raw HTML', rawHtml) },
    links !== undefined && { value: 'links', label: `Links (${links.length})`, content: () => <Links urls={links} /> },
    images !== undefined && {
      value: 'images',
      label: `Images (${images.length})`,
      content: () => <Links urls={images} />,
    },
    { value: 'metadata', label: 'Metadata', content: () => <Metadata metadata={metadata} /> },
  ];
  return views.filter((view) => view !== false);
}

/** Addresses, one a line. */
export function Links({ urls }: { urls: readonly string[] }) {
  if (urls.length === 0) return <p className="text-muted text-sm">There are none.</p>;
  return (
    <div className="flex flex-col gap-2 text-sm">
      <ul className="flex flex-col gap-1 [overflow-wrap:anywhere]">
        {urls.slice(0, linksShownMax).map((url) => (
          <li key={url}>
            <Away href={url}>{url}</Away>
          </li>
        ))}
      </ul>
      {urls.length > linksShownMax && (
        <p className="text-muted">{urls.length - linksShownMax} more are not shown here.</p>
      )}
    </div>
  );
}

function Metadata({ metadata }: Pick<ScrapedPage, 'metadata'>) {
  return (
    <Facts>
      {Object.entries(metadata).map(([name, value]) => (
        <Fact key={name} name={name}>
          {typeof value === 'string' ? value : JSON.stringify(value)}
        </Fact>
      ))}
    </Facts>
  );
}
