import type { Failure } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { folded, type MemberNames } from '../../kernel/parse-object.ts';

/** An id in a caller's body with a meaning only for the provider, which keeps the object. */
export interface NamedObject {
  id: string;
  /** Its place, as the caller wrote it: `input[0].file_id`. */
  field: string;
  /** `reference`: the provider looks it up. `label`: it belongs to an object that was sent whole, such as a message. */
  use: 'reference' | 'label';
}

/** Id in an answer. It can be named later: always, or only if the provider keeps the answer. */
export interface GivenId {
  id: string;
  nameable: 'always' | 'if-kept';
}

/**
 * Content of a member of a body, or of each item of a list. `id`: an id, or an object with an `id`. `holder`: such an
 * object alone. `label`: an id that is a label. `skill`: an id, unless the skill is the vendor's. `file-uri`: an id,
 * unless it is a public address. `items`: objects as `NamingRules.items` has them, and `item-id` is the id of one.
 * `labels`: an echo, so that ids below it are labels. `free-names`: names that callers make up over values that they do
 * not. `opaque`: content that callers and models make up altogether.
 */
export type MemberKind =
  | 'id'
  | 'holder'
  | 'label'
  | 'skill'
  | 'file-uri'
  | 'items'
  | 'item-id'
  | 'labels'
  | 'free-names'
  | 'opaque';

/** By the name of a member. */
export type MemberKinds = Readonly<Record<string, MemberKind>>;

/** Contents of the members of one dialect; null: nothing that is known. */
export interface MemberTable {
  kindOf(name: string): MemberKind | null;
  /** Folded names of members that hold ids. */
  idsIn: readonly string[];
}

/** Places of ids in a dialect's bodies. */
export interface NamingRules {
  /** At any depth. */
  members: MemberTable;
  /** Members at the top level alone, in addition to `members`. */
  top?: MemberTable;
  /** Members of an item, in addition to `members`. */
  items?: MemberTable;
  /** Kind of an item's id; null: it belongs to nobody. */
  itemUse?(item: JsonObject, id: string): NamedObject['use'] | null;
  /** True if ids in an object of this `type` are labels. */
  echoes?(type: string): boolean;
}

/** Places where a dialect's bodies name objects at providers. */
export interface ObjectsInBodies {
  /** Members that may hold ids: a body without any of them, at any depth, names no object. */
  members: MemberNames;
  /** Every id that a body names, in the order of its members. */
  find(body: JsonObject): NamedObject[];
}

/** `more`: names for which `find` has to look, in addition to those of the rules. */
export function objectsBy(
  rules: NamingRules,
  more: readonly string[] = [],
  find: ObjectsInBodies['find'] = (body) => findNamed(body, rules),
): ObjectsInBodies {
  const tables = [rules.members, rules.top, rules.items];
  const names = new Set([...tables.flatMap((table) => table?.idsIn ?? []), ...more.map(folded)]);
  return { members: { folded: names, seen: new Map() }, find };
}

/** Members of most formats' bodies: those that hold ids of files and containers, and those whose content callers make up. */
export const usualMembers: MemberKinds = {
  file_id: 'id',
  file_ids: 'id',
  container_id: 'id',
  metadata: 'opaque',
  schema: 'opaque',
};

/** A table for `NamingRules`, of names as the vendor spells them; in other cases of letters they are found too. */
export function memberKinds(kinds: MemberKinds): MemberTable {
  const byFolded = new Map(Object.entries(kinds).map(([name, kind]) => [folded(name), kind]));
  /** Results for names, up to `rememberedMax`: folding each of a long conversation's would be half the search. */
  const remembered = new Map<string, MemberKind | null>();
  return {
    idsIn: [...byFolded].flatMap(([name, kind]) => (holdsIds.has(kind) ? [name] : [])),
    kindOf(name) {
      let kind = remembered.get(name);
      if (kind === undefined) {
        kind = byFolded.get(folded(name)) ?? null;
        if (remembered.size < rememberedMax) remembered.set(name, kind);
      }
      return kind;
    },
  };
}

const rememberedMax = 1_024;

const holdsIds: ReadonlySet<MemberKind> = new Set(['id', 'holder', 'label', 'skill', 'file-uri', 'item-id']);

/** Every id that a body names by `rules`. Goes over it once, whatever it holds. */
export function findNamed(body: JsonObject, rules: NamingRules): NamedObject[] {
  const search = new Search(rules);
  search.look('', body, rules.top ?? rules.members, 'reference');
  return search.named;
}

const idOfHolder = memberKinds({ id: 'id' });

class Search {
  readonly named: NamedObject[];
  readonly #rules: NamingRules;
  /** Path of the present value; made into text only when an id is found. */
  readonly #path: (string | number)[];

  constructor(rules: NamingRules) {
    this.named = [];
    this.#rules = rules;
    this.#path = [];
  }

  /** Looks into an object, or into those of a list; `step` leads to it. `table` is for the object's members. */
  look(step: string | number, value: JsonValue | undefined, table: MemberTable, inherited: NamedObject['use']): void {
    if (typeof value !== 'object' || value === null) return;
    this.#path.push(step);
    if (Array.isArray(value)) {
      for (const [at, one] of value.entries()) this.look(at, one, table, inherited);
    } else {
      const { echoes, members } = this.#rules;
      const object = value as JsonObject;
      const use = echoes !== undefined && typeof object.type === 'string' && echoes(object.type) ? 'label' : inherited;
      for (const name in object) {
        const member = object[name];
        const kind = table.kindOf(name) ?? (table === members ? null : members.kindOf(name));
        if (kind === null) {
          if (typeof member === 'object') this.look(name, member, members, use);
        } else if (kind !== 'opaque') this.#take(name, member, kind, object, use);
      }
    }
    this.#path.pop();
  }

  #take(
    name: string | number,
    value: JsonValue | undefined,
    kind: MemberKind,
    holder: JsonObject,
    use: NamedObject['use'],
  ): void {
    if (typeof value === 'string') return this.#takeText(name, value, kind, holder, use);
    if (typeof value !== 'object' || value === null) return;
    const isList = Array.isArray(value);
    if (!isList && kind !== 'free-names') {
      return this.look(name, value, this.#tableIn(kind), kind === 'labels' ? 'label' : use);
    }
    this.#path.push(name);
    if (isList) for (const [at, one] of value.entries()) this.#take(at, one, kind, holder, use);
    else this.#valuesOf(value as JsonObject, use);
    this.#path.pop();
  }

  #takeText(name: string | number, text: string, kind: MemberKind, holder: JsonObject, use: NamedObject['use']): void {
    switch (kind) {
      case 'id':
        return this.#found(name, text, use);
      case 'label':
        return this.#found(name, text, 'label');
      case 'item-id': {
        const itemUse = this.#rules.itemUse!(holder, text);
        return itemUse === null ? undefined : this.#found(name, text, itemUse);
      }
      case 'skill':
        // The vendor's skills are words.
        return holder.type === 'anthropic' && !text.startsWith('skill_') ? undefined : this.#found(name, text, use);
      case 'file-uri':
        return this.#foundFile(name, text, use);
      default:
    }
  }

  #foundFile(name: string | number, text: string, use: NamedObject['use']): void {
    const upload = uploadOfUri(text);
    if (upload !== null) this.#found(name, upload, use);
    else if (!isPublicAddress(text)) this.#found(name, fileName(text), use);
  }

  #tableIn(kind: MemberKind): MemberTable {
    if (kind === 'id' || kind === 'holder') return idOfHolder;
    return (kind === 'items' ? this.#rules.items : undefined) ?? this.#rules.members;
  }

  #valuesOf(object: JsonObject, use: NamedObject['use']): void {
    for (const free in object) this.look(free, object[free], this.#rules.members, use);
  }

  #found(name: string | number, id: string, use: NamedObject['use']): void {
    if (id === '') return;
    let field = '';
    for (const step of [...this.#path, name]) {
      field += typeof step === 'number' ? `[${step}]` : field === '' ? step : `.${step}`;
    }
    this.named.push({ id, field, use });
  }
}

/** Place where a Messages request names the answer that it continues. */
export const threadField = 'thread.previous_message_id';

/** Anthropic's clients then send the whole conversation. */
const threadNotFound: Failure = {
  kind: 'not-found',
  param: threadField,
  code: 'thread_not_found',
  message: `The answer that '${threadField}' names has no thread here: a provider of another format answered it, or its provider keeps it no more. Send the whole conversation with "thread": {"type": "create"}.`,
};

/** The same words for another tenant's id and for an unknown one. */
export function objectNotFound(field: string): Failure {
  if (field === threadField) return threadNotFound;
  return {
    kind: 'not-found',
    param: field,
    message: `The object that '${field}' names was not found. Only the key that uploaded a file, or got an id from a provider, can name it. An operator shares other objects with providers.*.shared_objects.`,
  };
}

/**
 * True if a provider reads this from the open web, as anyone could: http(s) at a host other than those of Google's API.
 * Hosts are looked for in the text, too, because parsers disagree about hosts.
 */
function isPublicAddress(uri: string): boolean {
  if (!/^https?:\/\//i.test(uri) || !URL.canParse(uri)) return false;
  const { hostname } = new URL(uri);
  const place = `${uri.split(/[?#]/, 1)[0]} ${hostname}`.toLowerCase().replace(/[\s\p{Cc}]/gu, '');
  return (
    !/googleapis|\.clients\d*\.google\./.test(place) || /^https?:\/\/(?:[\w-]+\.)?storage\.googleapis\.com\//.test(uri)
  );
}

/** Our id of a file that was uploaded here, by the name or address that Google's clients got; null: it is another one. */
export function uploadOfUri(uri: string): string | null {
  const name = /^(?:https?:\/\/[^/?#]+\/v1(?:beta)?\/)?files\/([0-9a-z]{9}[0-9A-Za-z]{16})$/.exec(uri)?.[1];
  return name === undefined ? null : `file-${name}`;
}

/** `files/abc` of Google's address of it, which names the same. */
function fileName(uri: string): string {
  return /^https:\/\/generativelanguage\.googleapis\.com\/v\w+\/(files\/[\w-]+)$/.exec(uri)?.[1] ?? uri;
}
