/** JSON Schema as the admin API's OpenAPI has it. */
interface Schema {
  type?: string | readonly string[];
  format?: string;
  const?: unknown;
  enum?: readonly unknown[];
  description?: string;
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
  $ref?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  mark?: string;
  secret_path?: boolean;
}

interface Operation {
  requestBody?: { content: Readonly<Record<string, { schema: Schema }>> };
  responses: Readonly<Record<string, { content?: Readonly<Record<string, { schema: Schema }>> }>>;
}

export interface OpenApi {
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

type Rule = 'required' | 'optional' | 'computed' | 'computed_optional';
type Attribute = { name: string } & Record<string, unknown>;

/** Resources that Terraform manages, and the operations that make and change them. */
const resources = [
  { name: 'provider', path: '/providers', one: '{name}', make: 'post' },
  { name: 'model', path: '/models', one: '{id}', make: 'post' },
  { name: 'plan', path: '/plans', one: '{name}', make: 'put' },
  { name: 'account', path: '/accounts', one: '{id}', make: 'post' },
  { name: 'key', path: '/keys', one: '{id}', make: 'post' },
  { name: 'guard', path: '/guards', one: '{name}', make: 'post' },
  { name: 'prompt', path: '/prompts', one: '{name}', make: 'post' },
  { name: 'route', path: '/routes', one: '{name}', make: 'post' },
] as const;

/** Terraform's own names at the root of a resource. */
const reserved = ['connection', 'count', 'depends_on', 'for_each', 'lifecycle', 'provider', 'provisioner'];
const depthMax = 8;

/** The provider code specification (version 0.1) of a Terraform provider over the admin API. */
export function terraformSpec({ paths }: OpenApi): object {
  return {
    version: '0.1',
    provider: {
      name: 'culvert',
      schema: {
        attributes: [
          {
            name: 'url',
            string: {
              optional_required: 'required',
              description: 'Base URL of Culvert, such as https://culvert.example.org.',
            },
          },
          {
            name: 'admin_key',
            string: {
              optional_required: 'optional',
              sensitive: true,
              description: 'The admin key, or the key of an operator. Default: the variable CULVERT_ADMIN_KEY.',
            },
          },
        ],
      },
    },
    resources: resources.map(({ name, path, one, make }) => {
      const entry = paths[`/admin/v1${path}/${one}`] ?? {};
      const made = make === 'put' ? entry.put : paths[`/admin/v1${path}`]?.post;
      return { name, schema: { attributes: attributesOf(one.slice(1, -1), made, entry) } };
    }),
  };
}

/** Members that people write are `optional` or `required`; plain members that replies have besides are `computed`. */
function attributesOf(
  id: string,
  made: Operation | undefined,
  { patch, get }: Readonly<Record<string, Operation>>,
): Attribute[] {
  const [make, change, shown, reply] = [bodyOf(made), bodyOf(patch), replyOf(get), replyOf(made)];
  const written = { ...change.properties, ...make.properties };
  // Members of the root have their types first, so that the deeper one of a name is JSON.
  const names = new Set(Object.keys(written));
  const root: Attribute[] = [];
  const add = (name: string, rule: Rule, schema: Schema) => {
    const attribute = attributeOf(name, rule, schema, names, 0);
    if (!root.some((other) => other.name === attribute.name)) root.push(attribute);
  };
  if (written[id] === undefined)
    add(id, shown.properties?.[id] !== undefined && make.properties?.name !== undefined ? 'computed' : 'required', {
      type: 'string',
      description: shown.properties?.[id]?.description ?? 'Its name.',
    });
  for (const [name, schema] of Object.entries(written)) {
    if (name === 'version') continue;
    const rule = make.required?.includes(name) ? 'required' : name === id ? 'computed_optional' : 'optional';
    add(name, rule, schema);
  }
  for (const [name, schema] of Object.entries({ ...shown.properties, ...reply.properties }))
    if (written[name] === undefined || name === 'version') {
      const { type } = withoutNull(schema);
      if (typeof type === 'string' && ['string', 'integer', 'number', 'boolean'].includes(type))
        add(name, 'computed', schema);
    }
  return root.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function bodyOf(operation: Operation | undefined): Schema {
  return operation?.requestBody?.content['application/json']?.schema ?? {};
}

function replyOf(operation: Operation | undefined): Schema {
  const { responses = {} } = operation ?? {};
  return (responses['200'] ?? responses['201'])?.content?.['application/json']?.schema ?? {};
}

/** `nested` has the names of nested types so far: the generator makes one Go type of each name in a resource. */
function attributeOf(name: string, rule: Rule, schema: Schema, nested: Set<string>, depth: number): Attribute {
  const plain = withoutNull(schema);
  const identifier = identifierOf(name, depth);
  const secret = [schema, plain].some(
    ({ format, mark, secret_path }) =>
      format === 'password' || ['secret', 'headers', 'body'].includes(mark ?? '') || secret_path === true,
  );
  const description = describe(schema, plain);
  const facts = {
    computed_optional_required: rule,
    ...(description !== '' && { description }),
    ...(secret && { sensitive: true }),
  };
  const asJson = (): Attribute => ({
    name: identifier,
    string: { ...facts, description: `${description === '' ? '' : `${description} `}As JSON: use jsonencode.` },
  });
  const kind = scalarOf(plain);
  if (kind !== null) return { name: identifier, [kind]: facts };
  const inner = plain.type === 'array' ? withoutNull(plain.items ?? {}) : plain;
  const values = typeof inner.additionalProperties === 'object' ? withoutNull(inner.additionalProperties) : null;
  const element = plain.type === 'array' ? scalarOf(inner) : values === null ? null : scalarOf(values);
  if (element !== null)
    return {
      name: identifier,
      [plain.type === 'array' ? 'list' : 'map']: { ...facts, element_type: { [element]: {} } },
    };
  const members = plain.type === 'array' ? inner.properties : (plain.properties ?? values?.properties);
  if (members === undefined || depth >= depthMax || (depth > 0 && nested.has(identifier))) return asJson();
  nested.add(identifier);
  const { required = [] } = plain.type === 'array' ? inner : plain.properties === undefined ? (values ?? {}) : plain;
  const attributes = Object.entries(members).map(([member, of]) =>
    attributeOf(member, required.includes(member) ? 'required' : 'optional', of, nested, depth + 1),
  );
  if (plain.type !== 'array' && plain.properties !== undefined)
    return { name: identifier, single_nested: { ...facts, attributes } };
  const form = plain.type === 'array' ? 'list_nested' : 'map_nested';
  return { name: identifier, [form]: { ...facts, nested_object: { attributes } } };
}

type Scalar = 'string' | 'int64' | 'float64' | 'bool';

/** Terraform's type of a value; null: it is a list, a mapping or anything. `off` or a number is a text. */
function scalarOf({ type, anyOf = [], enum: words, const: word }: Schema): Scalar | null {
  if (anyOf.length > 0) return anyOf.every((one) => scalarOf(one) !== null) ? 'string' : null;
  if (Array.isArray(type)) return 'string';
  if (type === 'integer') return 'int64';
  if (type === 'number') return 'float64';
  if (type === 'boolean') return 'bool';
  return type === 'string' || words !== undefined || word !== undefined ? 'string' : null;
}

/** Without the forms that a configuration needs no words for: null, and a short form of an object or a list. */
function withoutNull(schema: Schema): Schema {
  const { anyOf, type } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== 'null');
    return { ...schema, type: types.length === 1 ? types[0] : types } as Schema;
  }
  if (anyOf === undefined) return schema;
  const forms = anyOf.filter((one) => one.type !== 'null');
  const whole = forms.find((one) => one.type === 'object' || one.type === 'array');
  const { anyOf: _all, ...rest } = schema;
  if (whole !== undefined) return { ...rest, ...withoutNull(whole) };
  return forms.length === 1 && forms[0] !== undefined ? { ...rest, ...forms[0] } : { ...rest, anyOf: forms };
}

function describe(schema: Schema, plain: Schema): string {
  const said = schema.description ?? plain.description ?? '';
  const words = plain.enum?.map(String) ?? [];
  const off = (schema.anyOf ?? []).some((one) => one.const === 'off') && scalarOf(plain) === 'string';
  const forms = [
    ...(words.length > 0 && words.length <= 20 ? [`One of ${words.join(', ')}.`] : []),
    ...(off ? ['A number, or off.'] : []),
  ];
  return [said, ...forms].filter((one) => one !== '').join(' ');
}

/** `5h` is no identifier there, and `provider` is none at the root. */
function identifierOf(name: string, depth: number): string {
  const word = name.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_');
  if (/^\d/.test(word)) return `in_${word}`;
  return depth === 0 && reserved.includes(word) ? `${word}_name` : word;
}
