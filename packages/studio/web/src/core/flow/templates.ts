// What a new workflow begins with.

export const TEMPLATES = ["empty", "approval", "list", "repeat"] as const;
export type Template = (typeof TEMPLATES)[number];

const BODIES: Record<Template, string> = {
  empty: `inputs: {type: object, properties: {}}
nodes: {}
edges: []
outputs: {}
`,
  approval: `description: Asks a person before going on.
inputs: {type: object, required: [request], properties: {request: {type: string}}}
nodes:
  ask: {type: human, message: "May this be done? \${inputs.request}"}
  done: {type: say, text: "Agreed: \${inputs.request}"}
  refused: {type: say, text: "Refused: \${inputs.request}"}
edges: [ask > done, ask.denied > refused]
outputs: {agreed: "\${done.output?}", refused: "\${refused.output?}"}
`,
  list: `description: Does something for each item of a list.
inputs: {type: object, required: [items], properties: {items: {type: array, items: {type: string}}}}
nodes:
  items:
    type: each
    over: "\${inputs.items}"
    parallel: 4
    nodes:
      tell: {type: say, text: "Item \${item}"}
    output: "\${tell.output}"
outputs: {told: "\${items.output}"}
`,
  repeat: `description: Goes on until a condition is true.
inputs: {type: object, required: [times], properties: {times: {type: integer}}}
nodes:
  again:
    type: loop
    vars: {count: 0}
    until: "vars.count >= inputs.times"
    max: 20
    nodes:
      add: {type: set, add: {count: 1}}
    output: "\${add.output}"
outputs: {passes: "\${again.passes}"}
`,
};

/** The text of a new workflow. */
export function newWorkflow(name: string, template: Template): string {
  return `actum: workflow/1\nname: ${JSON.stringify(name)}\n${BODIES[template]}`;
}
