"""The style of the pages, which charts share by the same names of colours: light, dark, phone and print.

Colours of charts are those of Okabe and Ito, which people with any colour vision can tell apart.
"""

from __future__ import annotations

# Colours as charts are drawn with → the names of the style, which has them for light and for dark.
COLOURS = {
    "#1b2430": "ink",
    "#5a6573": "soft",
    "#d5dbe3": "line",
    "#0072b2": "blue",
    "#e69f00": "orange",
    "#d55e00": "red",
    "#009e73": "green",
    "#f7f8fa": "back",
}
_DARK = (
    "--paper:#11161d;--back:#1a212b;--ink:#e8edf3;--soft:#a5b1c0;--line:#364150;"
    "--blue:#56b4e9;--orange:#f0b73a;--red:#ff8a4c;--green:#2fc79b;--bad:#ff9b73;--good:#4fd8ab;--warn:#f0b73a"
)
_LIGHT = (
    "--paper:#fff;--back:#f7f8fa;--ink:#1b2430;--soft:#5a6573;--line:#d5dbe3;"
    "--blue:#0072b2;--orange:#e69f00;--red:#d55e00;--green:#009e73;--bad:#a63c00;--good:#00664b;--warn:#7a5200"
)
STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}}
header,main,footer{{max-width:96rem;margin:0 auto;padding:0 1.5rem}}
header{{padding-top:1.5rem}}footer{{padding-bottom:2rem;color:var(--soft);font-size:.875rem}}
a{{color:var(--blue)}}a:focus-visible,summary:focus-visible,.frame:focus-visible{{outline:3px solid var(--orange)}}
h1{{font-size:1rem;font-weight:600;margin:0;color:var(--soft)}}
h2{{font-size:1.05rem;margin:0 0 .5rem;text-wrap:balance}}
p{{margin:.35rem 0}}.soft{{color:var(--soft);font-size:.875rem}}
code{{font:.9em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}}
.verdict{{border-left:.5rem solid var(--line);padding:.1rem 0 .1rem 1rem;margin:.75rem 0 1rem}}
.verdict .say{{font-size:1.6rem;line-height:1.25;font-weight:650;text-wrap:balance;margin:0 0 .35rem}}
.verdict.bad{{border-color:var(--red)}}.verdict.warn{{border-color:var(--orange)}}
.verdict.good{{border-color:var(--green)}}
p.bad,.bad .mark{{color:var(--bad)}}p.bad{{font-weight:600}}
.warn .mark{{color:var(--warn)}}.good .mark{{color:var(--good)}}
.next code{{background:var(--back);border:1px solid var(--line);border-radius:6px;padding:.2rem .5rem}}
nav{{font-size:.875rem;margin:.5rem 0 1rem}}nav ul{{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;
margin:0;padding:0}}
.figures{{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;margin:0 0 1rem;padding:0}}
.figures div{{background:var(--back);border:1px solid var(--line);border-radius:10px;padding:.6rem .8rem}}
.figures dt{{color:var(--soft);font-size:.8rem}}.figures dd{{margin:0;font-size:1.35rem;font-weight:600;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}}.figures dd small{{font-size:.8rem;font-weight:400;
color:var(--soft);display:block}}
.cards{{columns:34rem;column-gap:1rem;margin-bottom:1rem}}
.card{{background:var(--back);border:1px solid var(--line);border-radius:10px;padding:1rem;
margin:0 0 1rem;break-inside:avoid}}
.card.bad{{border-top:.25rem solid var(--red)}}.card.warn{{border-top:.25rem solid var(--orange)}}
figure{{margin:.5rem 0 .25rem}}figcaption{{font-size:.875rem;margin-bottom:.25rem}}
figure svg{{display:block;width:100%;height:auto;max-width:36rem;overflow:visible}}
.key{{color:var(--soft);white-space:nowrap}}.key::before{{content:"";display:inline-block;width:.7em;height:.7em;
margin:0 .3em 0 .5em;background:currentColor}}
.key.blue::before{{background:var(--blue)}}.key.orange::before{{background:var(--orange)}}
.key.red::before{{background:var(--red)}}.key.green::before{{background:var(--green)}}
.key.tick::before{{background:var(--ink);height:.2em;vertical-align:.25em}}
.key.scale::before{{width:4em;background:linear-gradient(90deg,#440154,#31688e,#35b779,#fde725)}}
.frame{{overflow-x:auto;margin:.5rem 0 .25rem;max-width:100%}}
table{{border-collapse:collapse;width:100%;font-size:.875rem}}
caption{{text-align:left;font-weight:600;padding:.25rem 0}}
.unseen{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}}
th,td{{padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}}
th{{color:var(--soft);font-weight:600}}th:last-child,td:last-child{{padding-right:0}}
.n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
td{{overflow-wrap:break-word}}.k,.flat td{{white-space:nowrap}}
summary{{cursor:pointer;font-size:.875rem;padding:.35rem 0;color:var(--blue)}}
@media (max-width:44rem){{header,main,footer{{padding-left:1rem;padding-right:1rem}}.card{{padding:.75rem}}
.verdict .say{{font-size:1.3rem}}body{{font-size:15px}}}}
@media print{{@page{{size:A4;margin:12mm}}:root{{color-scheme:light;font-size:62.5%;{_LIGHT}}}body{{font-size:1rem}}
nav,summary{{display:none}}header,main,footer{{padding:0;max-width:none}}.card{{border-width:0;border-top:1px solid
var(--line);border-radius:0;background:none;padding:.75rem 0;margin:0}}.frame{{overflow:visible}}
table{{font-size:.85rem}}th,td{{padding:1px 4px 1px 0;overflow-wrap:anywhere}}.n,.k,.flat td{{white-space:normal}}
tr,figure{{break-inside:avoid}}h2{{break-after:avoid}}thead{{display:table-header-group}}}}
"""
