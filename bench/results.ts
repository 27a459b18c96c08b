import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { markdownTable, type Row } from './rows.ts';

/** What results.md says of a subject. */
interface Heading {
  subject: string;
  /** The command that repeats it. */
  command: string;
  /** Circumstances and method of the measurement, in whole sentences. */
  how: string;
  /** Default: this checkout's. */
  commit?: string;
}

/** A subject's figures as results.md has them. */
export interface Section extends Heading {
  rows: readonly Row[];
}

/** Figures in a table of the subject's own, in Markdown. */
export interface TableSection extends Heading {
  table: string;
}

/** Ends a measurement and its process. `whole`: all of its rows were measured, so they become the section. */
export function finish(section: Section, whole = true): never {
  if (whole) writeSection(section);
  exitBy(section.rows);
}

/** Ends the process, with 1 where a row missed its goal. */
export function exitBy(rows: readonly Row[]): never {
  process.exit(rows.some(({ verdict }) => verdict === 'miss') ? 1 : 0);
}

/** Each subject has its section of results.md; the others stay as they were. */
export function writeSection(section: Section | TableSection): void {
  const file = fileURLToPath(new URL('./results.md', import.meta.url));
  let before = '# Figures\n\nMust reach: design §18. Written by `npm run bench`.\n\n';
  try {
    before = readFileSync(file, 'utf8');
  } catch {
    // The first run writes it.
  }
  const others = before.split(/^(?=## )/m).filter((part) => !part.startsWith(`## ${section.subject}\n`));
  writeFileSync(file, `${others.join('').trimEnd()}\n\n${textOf(section)}`);
}

function textOf(section: Section | TableSection): string {
  const { subject, command, how, commit = commitOf('.') } = section;
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}`;
  return [
    `## ${subject}`,
    '',
    `${new Date().toISOString().slice(0, 10)}, commit ${commit}, \`${command}\`, ${machine}.`,
    how,
    '',
    'table' in section ? section.table : markdownTable(section.rows),
    '',
  ].join('\n');
}

/** Of the checkout in a folder. */
export function commitOf(folder: string): string {
  return execFileSync('git', ['-C', folder, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
}
