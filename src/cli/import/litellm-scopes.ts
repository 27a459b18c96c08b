import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { filled, noteLeftOut } from './import-fields.ts';
import { type AccessGroups, modelsOf } from './litellm-allowed-models.ts';
import type { LiteLlmRows, LiteLlmTable } from './litellm-database.ts';
import { columnsLeftOut } from './litellm-left-out.ts';
import { type Limits, limitsOf } from './litellm-limits.ts';
import type { Notes, Path } from './notes.ts';
import { listOfTexts, textOr } from './plain-values.ts';

/** Limits that several keys or accounts share in LiteLLM. Here each of them has these limits for itself. */
export interface Scope {
  path: Path;
  /** Name for people. */
  label: string;
  limits: Limits;
  /** Globs; null: all. */
  models: string[] | null;
  blocked: boolean;
  /** Keys and accounts that got the limits. */
  holders: number;
}

/** Budgets above keys. Each finds null where there is none. */
export type Scopes = ReturnType<typeof readScopes>;

/** Reads organizations, projects, members of teams and tags, with their rows of `LiteLLM_BudgetTable`. */
export function readScopes({ tables }: LiteLlmRows, groups: AccessGroups, notes: Notes) {
  const all = new Map<string, Scope>();
  const budgets = new Map(tables.LiteLLM_BudgetTable.map((row) => [row.budget_id, filled(row)]));
  const add = (table: LiteLlmTable, id: string, label: string, row: JsonObject, budget: JsonObject) => {
    const path = [table, label];
    noteLeftOut({ ...budget, ...filled(row) }, columnsLeftOut, path, notes);
    all.set(`${table}/${id}`, {
      path,
      label,
      limits: limitsOf(budget, path, notes),
      models: modelsOf(row, groups, path, notes),
      blocked: row.blocked === true,
      holders: 0,
    });
  };
  const budgetOf = (id: unknown) => budgets.get(id as string) ?? {};

  for (const row of tables.LiteLLM_OrganizationTable) {
    const id = String(row.organization_id);
    add('LiteLLM_OrganizationTable', id, textOr(row.organization_alias, id), row, budgetOf(row.budget_id));
  }
  for (const row of tables.LiteLLM_ProjectTable) {
    const id = String(row.project_id);
    add('LiteLLM_ProjectTable', id, textOr(row.project_alias, id), row, budgetOf(row.budget_id));
  }
  const teams = new Map(tables.LiteLLM_TeamTable.map((row) => [row.team_id, row]));
  const people = new Map(tables.LiteLLM_UserTable.map((row) => [row.user_id, row]));
  for (const { user_id: user, team_id: team, budget_id } of tables.LiteLLM_TeamMembership) {
    // A team's own budget for its members counts where a member's names no sum.
    const usual = budgetOf(objectIn(teams.get(team)?.metadata).team_member_budget_id);
    const budget = { ...usual, ...budgetOf(budget_id) };
    const who = textOr(people.get(user)?.user_email, textOr(people.get(user)?.user_alias, String(user)));
    const where = textOr(teams.get(team)?.team_alias, String(team));
    add('LiteLLM_TeamMembership', `${user}/${team}`, `${who} in ${where}`, { models: budget.allowed_models }, budget);
  }
  for (const row of tables.LiteLLM_TagTable) {
    const name = String(row.tag_name);
    if (listOfTexts(row.models).length > 0)
      notes.add(['LiteLLM_TagTable', name, 'models'], 'not carried over: tags do not choose models here');
    add('LiteLLM_TagTable', name, name, {}, budgetOf(row.budget_id));
  }

  const find = (table: LiteLlmTable, id: unknown) => all.get(`${table}/${id}`) ?? null;
  return {
    organization: (id: unknown): Scope | null => find('LiteLLM_OrganizationTable', id),
    /** A row of `LiteLLM_BudgetTable`, without what is empty in it. */
    budget: budgetOf,
    /** Scopes between a key and its team: its project, its user as a member of the team, its tags. */
    ofKey({ project_id: project, team_id: team, user_id: user, metadata }: JsonObject): Scope[] {
      const tags = new Set(listOfTexts(objectIn(metadata).tags));
      return [
        find('LiteLLM_ProjectTable', project),
        find('LiteLLM_TeamMembership', `${user}/${team}`),
        ...[...tags].map((tag) => find('LiteLLM_TagTable', tag)),
      ].filter((scope) => scope !== null);
    },
    /** Says which limits belong to several holders now, or to none. */
    noteHolders(): void {
      const unused = new Map<string, number>();
      for (const { path, limits, holders } of all.values()) {
        const [table] = path as [LiteLlmTable];
        if (Object.keys(limits).length === 0) continue;
        if (holders === 0) unused.set(table, (unused.get(table) ?? 0) + 1);
        if (holders > 1) notes.add(path, eachByItself(holders));
        if (table === 'LiteLLM_TagTable' && holders > 0) notes.add(path, tagOfRequest);
      }
      for (const [table, count] of unused) notes.add([table], `limits of ${count} not carried over: no key has them`);
    },
  };
}

function eachByItself(holders: number): string {
  return `its limits count for each of ${holders} accounts or keys separately; together these may use ${holders} times as much`;
}

const tagOfRequest = 'its budget counts for the keys that have the tag; a tag that a caller sends has no budget here';
