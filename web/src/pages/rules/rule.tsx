import type { RouteReply } from '../../../../src/admin/entries/routes.ts';
import { rules } from '../../api/entries.ts';
import { Note } from '../../parts/error-note.tsx';
import { plural } from '../../parts/format.ts';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { EntryFacts } from '../../parts/stored/stored-entry.tsx';
import { StoredPage } from '../../parts/stored/stored-page.tsx';
import { ladderBy, type RuleDefinition } from './rule-fields.ts';
import { RuleForm } from './rule-form.tsx';
import { Savings } from './savings.tsx';

/** One rule: which requests it is for, and what it does. */
export default function RulePage() {
  return (
    <StoredPage
      entries={rules}
      list={{ to: '/dashboard/routes', label: 'Rules' }}
      everyMs={10_000}
      kind="rule"
      area="models"
      place="side"
      edit={(rule, done) => <RuleForm rule={rule} onDone={done} />}
      removal="From then on, only the other rules apply."
    >
      {(rule) => <Rule rule={rule} />}
    </StoredPage>
  );
}

function Rule({ rule }: { rule: RouteReply }) {
  const { when, order, enabled, continue: goesOn } = rule;
  const written: RuleDefinition = rule.settings ?? rule.definition ?? {};
  return (
    <>
      {!enabled && <Note tone="plain">It is turned off and applies to no request.</Note>}
      <div className="grid gap-4 lg:grid-cols-2">
        <Section title="Condition">
          {when === null ? (
            <p className="mb-3">All requests.</p>
          ) : (
            <pre className="mb-3 whitespace-pre-wrap font-mono text-xs [overflow-wrap:anywhere]">{when}</pre>
          )}
          <Facts>
            <Fact name="Order">{order}</Fact>
            <Fact name="Later rules">{goesOn ? 'also tried' : 'not tried when this one applies'}</Fact>
            <EntryFacts of={rule} />
          </Facts>
        </Section>
        <Section title="Effects">
          <Facts>
            <Effects of={written} />
          </Facts>
        </Section>
      </div>
      {written.classify?.observe === true && <Savings rule={rule.name} />}
    </>
  );
}

function Effects({ of: { model, ladder, classify, targets, parameters = {}, tag, refuse } }: { of: RuleDefinition }) {
  return (
    <>
      {refuse !== undefined && (
        <Fact name="Refuses with">
          {refuse.status ?? 403} “{refuse.message}”
        </Fact>
      )}
      {model !== undefined && <Fact name="Model">{model}</Fact>}
      {ladder !== undefined && (
        <Fact name={ladderBy[ladder.by] ?? ladder.by}>
          {ladder.steps.map((step, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a step is its place
            <div key={at}>
              {[
                step.at_least === undefined ? null : `≥ ${step.at_least}`,
                step.at_most === undefined ? null : `≤ ${step.at_most}`,
              ]
                .filter((bound) => bound !== null)
                .join(', ') || 'else'}
              : {step.model}
            </div>
          ))}
        </Fact>
      )}
      {classify !== undefined && (
        <Fact name={classify.observe ? 'Would choose by examples' : 'Chooses by examples'}>
          {classify.classes.map(({ model, examples }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a class is its place
            <div key={at}>
              {model}: {plural(examples.length, 'example')}
            </div>
          ))}
          {classify.otherwise !== undefined && <div>else: {classify.otherwise}</div>}
          <div className="text-muted text-sm">compared by {classify.embedding_model}</div>
        </Fact>
      )}
      {targets !== undefined && <Fact name="Targets">{targets.join(', ')}</Fact>}
      {Object.entries(parameters).map(([name, value]) => (
        <Fact key={name} name={name}>
          {String(value)}
        </Fact>
      ))}
      {tag !== undefined && <Fact name="Tag">{tag}</Fact>}
    </>
  );
}
