import type { AgentReply } from '../../../../src/admin/entries/agents.ts';
import { Code } from '../../parts/code.tsx';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { Badge } from '../../parts/status.tsx';

/** The card of an agent as callers get it: what it can do, and its skills. An agent may write anything into it. */
export function Card({ of: { card, description, versions, streams } }: { of: AgentReply }) {
  if (card == null) {
    return (
      <Section title="Agent card">
        <p className="text-muted">Culvert has not read its card yet.</p>
      </Section>
    );
  }
  const { provider, skills } = card;
  const facts: [name: string, value: string][] = [
    ['Name', textOf(card.name)],
    ['Description', description ?? ''],
    ['Version', textOf(card.version)],
    ['Organization', textOf((provider as { organization?: unknown } | undefined)?.organization)],
    ['A2A', versions.join(', ')],
    ['Streaming', streams === true ? 'yes' : 'no'],
    ['Input', textsOf(card.defaultInputModes).join(', ')],
    ['Output', textsOf(card.defaultOutputModes).join(', ')],
  ];
  return (
    <>
      <Section title="Agent card">
        <Facts>
          {facts
            .filter(([, value]) => value !== '')
            .map(([title, value]) => (
              <Fact key={title} name={title}>
                {value}
              </Fact>
            ))}
        </Facts>
      </Section>
      <Skills of={Array.isArray(skills) ? skills : []} />
      <Section title="Card for callers">
        <Code text={JSON.stringify(card, null, 2)} label="Card" wrap />
      </Section>
    </>
  );
}

function Skills({ of: skills }: { of: readonly Record<string, unknown>[] }) {
  return (
    <Section title="Skills">
      {skills.length === 0 ? (
        <p className="text-muted">The card lists none.</p>
      ) : (
        <ul aria-label="Skills" className="flex flex-col gap-3">
          {skills.map((skill, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a card may name a skill twice.
            <li key={at} className="flex min-w-0 flex-col gap-1 [overflow-wrap:anywhere]">
              <span className="font-medium">{textOf(skill.name) || textOf(skill.id)}</span>
              <span className="text-muted empty:hidden">{textOf(skill.description)}</span>
              <span className="flex flex-wrap gap-1.5 empty:hidden">
                {[...new Set(textsOf(skill.tags))].map((tag) => (
                  <Badge key={tag}>{tag}</Badge>
                ))}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
