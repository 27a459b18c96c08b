// biome-ignore-all lint/suspicious/noArrayIndexKey: turns and parts have no identity but their place.
import { Bot, Info, type LucideIcon, User, Wrench } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { Away } from '../../parts/away.tsx';
import { classes } from '../../parts/classes.ts';
import { Code } from '../../parts/code.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Markdown } from '../../parts/markdown.tsx';
import { useObjectUrl } from '../../parts/object-url.ts';
import { Fact, Facts } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';
import { type Conversation, type Loss, type PlacedLosses, placeLosses } from './losses.ts';

type Turn = Conversation['turns'][number];
type Part = Turn['parts'][number];
type Media = NonNullable<Part['media']>;

interface ConversationProps {
  of: Conversation;
  /** Fields that conversions left out or changed. */
  losses: readonly Loss[];
  /** The body as it was sent. */
  request: string;
  error: string | null;
}

/** Bodies as turns, with what a conversion changed marked in place. */
export function ConversationView({ of, losses, request, error }: ConversationProps) {
  const placed = useMemo(() => placeLosses(losses, of, request), [losses, of, request]);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      {placed.rest.length > 0 && (
        <Note tone="warn">
          The provider did not get all of the conversation:{' '}
          {placed.rest.map(({ field, why }) => `${field} (${words[why]})`).join(', ')}
        </Note>
      )}
      <ol aria-label="Conversation" className="flex min-w-0 flex-col gap-3">
        {of.turns.map((turn, at) => (
          <TurnView key={at} turn={turn} placed={placed} />
        ))}
      </ol>
      {error !== null && <Note tone="bad">{error}</Note>}
      {of.tools.length > 0 && (
        <Folded title={`Tools that the request offers: ${of.tools.length}`}>
          <Facts>
            {of.tools.map(({ name, description }, at) => (
              <Fact key={at} name={name}>
                {description} <Marks of={placed.tool(at)} />
              </Fact>
            ))}
          </Facts>
        </Folded>
      )}
      {of.settings.length > 0 && (
        <Folded
          title={`Settings of the request: ${of.settings.length}`}
          open={of.settings.some(({ name }) => placed.setting(name).length > 0)}
        >
          <Facts>
            {of.settings.map(({ name, value }) => (
              <Fact key={name} name={name}>
                <code className="text-xs [overflow-wrap:anywhere]">{value}</code> <Marks of={placed.setting(name)} />
              </Fact>
            ))}
          </Facts>
        </Folded>
      )}
    </div>
  );
}

const words: Record<Loss['why'], string> = {
  unknown: 'dropped, unknown',
  unsupported: 'dropped',
  clamped: 'changed to the nearest value',
  narrowed: 'sent in part',
};

function Marks({ of }: { of: readonly Loss[] }) {
  return of.map(({ field, why }) => (
    <Badge key={field} tone="warn" title={field}>
      {words[why]}
    </Badge>
  ));
}

const roles: Record<Turn['role'], { word: string; icon: LucideIcon }> = {
  system: { word: 'System', icon: Info },
  developer: { word: 'Developer', icon: Info },
  user: { word: 'User', icon: User },
  assistant: { word: 'Assistant', icon: Bot },
  tool: { word: 'Tool', icon: Wrench },
};

function TurnView({ turn, placed }: { turn: Turn; placed: PlacedLosses }) {
  const { word, icon: Icon } = roles[turn.role];
  const isAnswer = turn.from === 'answer';
  const marks = isAnswer ? [] : placed.turn(turn.index);
  return (
    <li
      className={classes(
        'min-w-0 rounded-md border px-3 py-2',
        isAnswer ? 'border-accent/40' : 'border-line',
        marks.length > 0 && 'border-warn/60',
      )}
    >
      <p className="mb-1.5 flex flex-wrap items-center gap-1.5 text-muted text-xs">
        <Icon className="size-3.5" aria-hidden /> <span className="font-medium">{word}</span>
        {isAnswer && <Badge tone="accent">{turn.index === 0 ? 'answer' : `answer ${turn.index + 1}`}</Badge>}
        {turn.finish !== null && turn.finish !== 'stop' && <Badge>{turn.finish.replaceAll('-', ' ')}</Badge>}
        <Marks of={marks} />
      </p>
      <div className="flex min-w-0 flex-col gap-2 text-sm">
        {turn.parts.length === 0 && <p className="text-muted">It is empty.</p>}
        {turn.parts.map((part, at) => (
          <PartView key={at} part={part} placed={placed} />
        ))}
      </div>
    </li>
  );
}

function PartView({ part, placed }: { part: Part; placed: PlacedLosses }) {
  const marks = placed.part(part.type);
  return (
    <div className="min-w-0">
      {marks.length > 0 && (
        <p className="mb-1">
          <Marks of={marks} />
        </p>
      )}
      <PartContent part={part} placed={placed} />
    </div>
  );
}

function PartContent({ part, placed }: { part: Part; placed: PlacedLosses }) {
  const { type, text = '', name } = part;
  switch (type) {
    case 'text':
      return <Markdown text={text} />;
    case 'refusal':
      return <p className="text-bad [overflow-wrap:anywhere]">{text}</p>;
    case 'thought':
      return text === '' ? (
        <p className="text-muted">Reasoning that the provider encrypted.</p>
      ) : (
        <Folded title="Reasoning">
          <p className="whitespace-pre-wrap text-muted [overflow-wrap:anywhere]">{text}</p>
        </Folded>
      );
    case 'tool-call':
      return (
        <Labelled label="Call of" name={name} call={part.call}>
          <Code label={`Arguments of ${name ?? 'the tool'}`} text={pretty(text)} wrap />
        </Labelled>
      );
    case 'tool-result':
      return (
        <Labelled label={part.failed === true ? 'Failure of' : 'Result of'} name={name ?? 'the call'} call={part.call}>
          {part.parts?.map((inner, at) =>
            inner.type === 'text' ? (
              <Code key={at} label="Result" text={pretty(inner.text ?? '')} wrap />
            ) : (
              <PartContent key={at} part={inner} placed={placed} />
            ),
          )}
        </Labelled>
      );
    case 'citation':
      return (
        <p className="text-muted text-xs [overflow-wrap:anywhere]">
          Source: {part.media?.url == null ? name : <Away href={part.media.url}>{name || part.media.url}</Away>}
          {text !== '' && ` “${text}”`}
        </p>
      );
    case 'image':
    case 'audio':
    case 'file':
      return <MediaView type={type} media={part.media} name={name} text={text} />;
    default:
      return (
        <Labelled label="Part" name={name}>
          {text !== '' && <Code label="Part" text={pretty(text)} wrap />}
        </Labelled>
      );
  }
}

interface LabelledProps {
  label: string;
  name: string | undefined;
  /** Joins a call and its result. */
  call?: string | undefined;
  children: ReactNode;
}

function Labelled({ label, name, call, children }: LabelledProps) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <p className="text-xs">
        <span className="text-muted">{label}</span> <code className="font-medium">{name}</code>{' '}
        {call !== undefined && call !== '' && <code className="text-faint [overflow-wrap:anywhere]">{call}</code>}
      </p>
      {children}
    </div>
  );
}

interface MediaProps {
  type: 'image' | 'audio' | 'file';
  media: Media | undefined;
  name: string | undefined;
  text: string;
}

/** Bytes that are here are shown; of others only the address, since a page asks no stranger. */
function MediaView({ type, media, name, text }: MediaProps) {
  const blob = useMemo(() => blobOf(media), [media]);
  const url = useObjectUrl(blob);
  const label = name ?? { image: 'Image', audio: 'Audio', file: 'File' }[type];
  return (
    <figure className="flex min-w-0 flex-col gap-1">
      {url !== null && type === 'image' && (
        <img src={url} alt={text === '' ? label : text} className="max-h-96 max-w-full self-start rounded-md" />
      )}
      {url !== null && type === 'audio' && (
        // biome-ignore lint/a11y/useMediaCaption: its words, where there are any, are below it.
        <audio controls src={url} aria-label={label} className="w-full max-w-md" />
      )}
      {url !== null && type === 'file' && (
        <a href={url} download={name ?? 'file'} className="underline underline-offset-2">
          Save {label}
        </a>
      )}
      {url === null && (
        <p className="text-muted [overflow-wrap:anywhere]">
          {label}
          {media?.url != null && (
            <>
              {' '}
              at <Away href={media.url}>{media.url.slice(0, 120)}</Away>
            </>
          )}
        </p>
      )}
      {text !== '' && <figcaption className="text-muted text-xs">{text}</figcaption>}
    </figure>
  );
}

/** Null: the bytes are not here, or are none. */
function blobOf(media: Media | undefined): Blob | null {
  const data = /^data:([\w.+-]+\/[\w.+-]+)[^,]{0,100};base64,/.exec(media?.url?.slice(0, 300) ?? '');
  const base64 = data === null ? media?.base64 : media?.url?.slice(data[0].length);
  if (base64 == null || base64 === '') return null;
  try {
    const type = data?.[1] ?? media?.type;
    return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], type == null ? {} : { type });
  } catch {
    return null;
  }
}

function Folded({ title, open = false, children }: { title: string; open?: boolean; children: ReactNode }) {
  return (
    <details open={open} className="min-w-0 text-sm">
      <summary className="cursor-pointer text-muted">{title}</summary>
      <div className="mt-2 min-w-0">{children}</div>
    </details>
  );
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
