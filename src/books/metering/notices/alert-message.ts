import { randomBase62 } from '../../../kernel/ids.ts';
import { planFor } from './addressee.ts';
import type { AlertRow } from './alert-store.ts';
import type { Notice } from './notice-store.ts';

/** Messages of one time, as a webhook gets them. */
export interface AlertMessage {
  type: 'alerts';
  timestamp: string;
  data: { raised: ReportedAlert[]; resolved: ReportedAlert[] };
}

interface ReportedAlert {
  name: string;
  severity: string;
  text: string;
  fix: string | null;
  since: string;
}

export function alertNotice(
  receiver: string,
  { raised, resolved }: { raised: readonly AlertRow[]; resolved: readonly AlertRow[] },
  nowMs: number,
): Notice {
  const message: AlertMessage = {
    type: 'alerts',
    timestamp: new Date(nowMs).toISOString(),
    data: { raised: raised.map(reported), resolved: resolved.map(reported) },
  };
  const id = `msg_${randomBase62(24)}`;
  return { id, plan: planFor('alerts', receiver), body: JSON.stringify(message), createdMs: nowMs, tries: 0 };
}

/** Alerts that a message for people names: Slack cuts longer ones, and nobody reads them. */
const namedMax = 30;

/** One line that says the most of it, for a subject. */
export function alertSubject({ data: { raised, resolved } }: AlertMessage): string {
  const [first, ...more] = raised.length > 0 ? raised : resolved;
  const others = more.length + (raised.length > 0 ? resolved.length : 0);
  const word = raised.length > 0 ? capital(first!.severity) : 'Resolved';
  return `${word}: ${first!.text}${others > 0 ? ` And ${others} more.` : ''}`;
}

/** All of it as plain text, a paragraph each. */
export function alertText({ data: { raised, resolved } }: AlertMessage): string {
  const paragraphs = [
    ...raised.map(({ severity, text, fix }) => `${capital(severity)}: ${text}${fix === null ? '' : `\n${fix}`}`),
    ...resolved.map(({ text, since }) => `Resolved. It began at ${since}: ${text}`),
  ];
  return `${named(paragraphs)}\n`;
}

export function slackBody(message: AlertMessage): string {
  const { raised, resolved } = message.data;
  const marks = { problem: ':red_circle:', warning: ':large_yellow_circle:' } as Record<string, string>;
  const lines = [
    ...raised.map(
      ({ severity, text, fix }) => `${marks[severity]} *${escaped(text)}*${fix === null ? '' : `\n${escaped(fix)}`}`,
    ),
    ...resolved.map(({ text }) => `:large_green_circle: Resolved: ${escaped(text)}`),
  ];
  return JSON.stringify({ text: named(lines) });
}

/** The body of a webhook of Microsoft Teams: a card of runs of text, which is not read as Markdown. */
export function teamsBody({ data: { raised, resolved } }: AlertMessage): string {
  const colors = { problem: 'attention', warning: 'warning' } as Record<string, string>;
  const alerts = [
    ...raised.map(({ severity, text, fix }) => [
      { type: 'TextRun', text: `${capital(severity)}: ${text}`, weight: 'bolder', color: colors[severity] },
      ...(fix === null ? [] : [{ type: 'TextRun', text: `\n${fix}` }]),
    ]),
    ...resolved.map(({ text }) => [{ type: 'TextRun', text: `Resolved: ${text}`, color: 'good' }]),
  ];
  const more = othersOf(alerts).map((text) => [{ type: 'TextRun', text }]);
  const shown = [...alerts.slice(0, namedMax), ...more];
  const body = shown.map((inlines) => ({ type: 'RichTextBlock', inlines, separator: true }));
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body,
    msteams: { width: 'Full' },
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return JSON.stringify({ type: 'message', attachments: [{ contentType, contentUrl: null, content }] });
}

function named(alerts: readonly string[]): string {
  return [...alerts.slice(0, namedMax), ...othersOf(alerts)].join('\n\n');
}

function othersOf(alerts: readonly unknown[]): string[] {
  const others = alerts.length - namedMax;
  return others > 0 ? [`And ${others} more. The overview of the dashboard shows what is still wrong.`] : [];
}

/** Escapes the three characters that Slack reserves. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function reported({ name, severity, text, fix, sinceMs }: AlertRow): ReportedAlert {
  return { name, severity, text, fix, since: new Date(sinceMs).toISOString() };
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
