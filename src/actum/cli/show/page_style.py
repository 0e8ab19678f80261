"""How the page of a run looks. Light and dark, narrow and wide; the waterfall is boxes placed by percent."""

STYLE = """
:root {
  --back: #fbfaf8; --sheet: #ffffff; --ink: #23221f; --soft: #6f6b63; --line: #e4e0d8;
  --model: #8b7fc7; --ran: #3d9a6c; --failed: #cc4b3f; --wait: #d9a13b; --person: #d2689c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #17171a; --sheet: #1f1f23; --ink: #e6e4df; --soft: #9c988f; --line: #34343a;
    --model: #9a8fd6; --ran: #4fb382; --failed: #e2695d; --wait: #e0b04f; --person: #df7fae;
  }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif }
main { max-width: 72rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { font-size: 1.4rem; line-height: 1.3; margin: .25rem 0 .5rem; white-space: pre-wrap; overflow-wrap: anywhere }
p { margin: .15rem 0 }
code, pre { font: 13px/1.5 ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 24rem; overflow: auto }
.facts, .took, footer, .name { color: var(--soft); font-size: 13px }
.pill { border: 1px solid currentColor; border-radius: 1rem; padding: 0 .6rem; font-size: 12px; color: var(--soft) }
.pill.done { color: var(--ran) } .pill.failed, .pill.stopped, .pill.forgotten { color: var(--failed) }
.pill.paused, .pill.waiting { color: var(--person) } .pill.interrupted { color: var(--wait) }
header { margin-bottom: 1.5rem }
.answer {
  margin-top: .75rem; padding: .6rem .9rem; background: var(--sheet); border-left: 3px solid var(--ran);
  white-space: pre-wrap; overflow-wrap: anywhere
}
.row {
  display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr) 5.5rem; gap: .75rem; align-items: center;
  min-height: 2rem; padding: .1rem .5rem; border-top: 1px solid var(--line)
}
.label { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--soft) }
.label b { color: var(--ink); font-weight: 600 }
.took { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.track { position: relative; height: 1.1rem }
.track i { position: absolute; top: .2rem; height: .7rem; min-width: 3px; border-radius: 2px }
i.model { background: var(--model) } i.ran { background: var(--ran) } i.failed { background: var(--failed) }
i.wait { background: repeating-linear-gradient(90deg, var(--wait) 0 3px, transparent 3px 6px) }
i.person { background: repeating-linear-gradient(135deg, var(--person) 0 3px, transparent 3px 7px); opacity: .8 }
i.end { background: var(--soft) }
i.cut { background: repeating-linear-gradient(135deg, var(--soft) 0 1px, transparent 1px 5px); opacity: .5 }
.scale { border-top: 0; font-size: 12px }
i.key { display: inline-block; width: .9rem; height: .55rem; border-radius: 2px; margin-left: .5rem }
details > summary { cursor: pointer; list-style: none }
details > summary::-webkit-details-marker { display: none }
summary .label::before { content: "▸ "; color: var(--soft) }
details[open] > summary .label::before { content: "▾ " }
summary.row:hover { background: var(--sheet) }
summary:focus-visible { outline: 2px solid var(--model); outline-offset: -2px }
.call > summary .label, div.call > .label { padding-left: 1.5rem }
.bad > summary .label b, div.bad .label b, p.bad { color: var(--failed) }
div.row:not(.scale) .label { padding-left: 1rem }
.inside { padding: .6rem .75rem .9rem 2.5rem; background: var(--sheet); border-top: 1px dashed var(--line) }
.part { display: grid; grid-template-columns: 8rem minmax(0, 1fr); gap: .75rem; padding: .15rem 0 }
.part { font-size: 13px }
.name { overflow-wrap: anywhere }
.part p.person { color: var(--person) }
.child { margin: .5rem 0; border-left: 2px solid var(--line); padding-left: .75rem }
.fold { margin-top: .5rem; color: var(--soft) }
footer { margin-top: 1.5rem; border-top: 1px solid var(--line); padding-top: .75rem; overflow-wrap: anywhere }
@media (max-width: 42rem) {
  .row { grid-template-columns: minmax(0, 1fr) 4.5rem }
  .track { grid-column: 1 / -1; grid-row: 2 }
  .part { grid-template-columns: minmax(0, 1fr); gap: 0 }
}
"""
