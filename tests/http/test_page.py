"""The live page in a real browser: a job appears, its partition moves through the lanes, it ends; ids stay text; light,
dark and narrow; the daemon going and coming back. Screenshots go to the build folder (page-*.png)."""
import os
import pathlib
import sys
import time

import browser
import http_test
from daemon_test import CUZK, WINDOW, WINNING, Input

if not browser.find():
    print("no Chromium on this machine")
    sys.exit(1 if os.environ.get("CUZK_NO_SKIP") else 77)

PICTURES = pathlib.Path(CUZK).parent
HOSTILE = '<img src=x onerror="document.title=1">&amp;"\'</td>'
ROW = "[...document.querySelectorAll('#{body} tr')].find(r => r.textContent.includes({id}))"


def js(text):
    import json
    return json.dumps(text)


def row(body, job):
    return ROW.format(body=body, id=js(job))


def contrast(a, b):
    def luminance(color):
        r, g, b = (int(color[i:i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    x, y = sorted((luminance(a), luminance(b)))
    return (y + 0.05) / (x + 0.05)


class Page(http_test.HttpTest):
    def open(self, site, b):
        b.open(site.base + "/")
        b.wait("document.getElementById('link')?.textContent === 'live'", "the page is live")

    def test_life_of_a_job(self):
        site = self.site()
        with browser.Browser() as b:
            b.size(1440, 1000)
            b.colors("light")
            self.open(site, b)
            self.assertEqual(b.evaluate("document.getElementById('active-rows').children.length"), 0)
            self.watch_one(site, b)
            self.hostile_id(site, b)
            self.failed_job(site, b)
            self.looks(site, b)
            self.described(b)
            self.away_and_back(site, b)
            self.assertEqual([p for p in b.problems if "net::ERR" not in p and "EventSource" not in p], [])

    def watch_one(self, site, b):
        """Submitted, seen at work in each lane in turn, drawn in its colour, ended."""
        b.evaluate("""(() => {
          window.seen = [];
          new MutationObserver(() => {
            const r = """ + row("active-rows", "first job") + """, last = seen[seen.length - 1];
            const now = r ? r.querySelector('.state').textContent + ' ' + (r.querySelector('.cells i')?.className ?? '') : 'gone';
            if (now !== last) seen.push(now);
          }).observe(document.getElementById('active'), {subtree: true, childList: true, attributes: true, characterData: true});
        })()""")
        site.daemon.submit("first job", WINNING)
        b.wait(row("active-rows", "first job"), "the job is listed")
        b.wait("state.slices.some(s => s.lane.startsWith('cpu/') && s.end === null)", "it is on the device")
        b.screenshot(PICTURES / "page-at-work.png", False)
        b.wait(row("recent-rows", "first job"), "the job has ended", 120)
        self.assertEqual(site.daemon.wait("first job")["state"], "completed")
        seen = b.evaluate("seen")
        self.assertTrue(any(s.startswith("running") for s in seen), seen)
        self.assertIn("running g", seen, "its partition was on the device")
        self.assertEqual(seen[-1], "gone")
        b.wait("state.slices.every(s => s.end !== null)", "all stages have ended")
        stages = b.evaluate("state.slices.map(s => [s.stage, s.lane.split(/[ /]/)[0], s.start, s.end])")
        first = {}
        for stage, lane, start, end in stages:
            first.setdefault(stage, (lane, start, end))
        self.assertEqual([(s, first[s][0]) for s in ("synthesis", "device", "finish", "verify")],
                         [("synthesis", "synthesis"), ("device", "cpu"), ("finish", "finish"), ("verify", "finish")])
        starts = [first[s][1] for s in ("synthesis", "device", "finish", "verify")]
        self.assertEqual(starts, sorted(starts))
        cells = b.evaluate(f"[...{row('recent-rows', 'first job')}.children].map(c => c.textContent)")
        self.assertEqual(cells[1:3], ["winning-post-2kib", "completed"])
        self.assertRegex(b.evaluate(f"{row('recent-rows', 'first job')}.querySelector('.stages').ariaLabel"),
                         r"synthesis [0-9.]+ m?s, .*device [0-9.]+ m?s")
        self.assertEqual(b.evaluate("document.querySelector('#tile-done .value').textContent"), "1")
        self.drawn(b)

    def drawn(self, b):
        """The canvas has the kind's colour where the device's slice is, and the tip names the job there."""
        found = b.evaluate("""(() => {
          drawLanes();
          const [x0, y0, x1, y1] = boxes.find(b => b[4].stage === 'device'), c = document.getElementById('lanes');
          const k = c.width / c.clientWidth, x = (x0 + x1) / 2, y = y0 + 4;
          const rgb = c.getContext('2d').getImageData(Math.round(x * k), Math.round(y * k), 1, 1).data, r = c.getBoundingClientRect();
          c.dispatchEvent(new PointerEvent('pointermove', {clientX: r.left + x, clientY: r.top + y}));
          const tip = document.getElementById('tip').textContent;
          c.dispatchEvent(new PointerEvent('pointerleave'));
          return ['#' + [...rgb].slice(0, 3).map(v => v.toString(16).padStart(2, '0')).join(''), colorOf('winning-post'), tip];
        })()""")
        self.assertEqual(found[0], found[1])
        self.assertIn("winning-post first job\npartition 0 · device on cpu/", found[2])

    def hostile_id(self, site, b):
        site.daemon.submit(HOSTILE, WINDOW[0])
        b.wait(row("recent-rows", HOSTILE), "the job with an id that looks like HTML has ended", 120)
        self.assertEqual(b.evaluate("document.querySelectorAll('img, td td').length"), 0)
        self.assertEqual(b.evaluate("document.title"), "cuzk")
        link = b.evaluate(f"{row('recent-rows', HOSTILE)}.querySelector('a').href")
        self.assertTrue(b.evaluate(f"fetch({js(link)}).then(r => r.json()).then(t => t.traceEvents.length)") > 5)

    def failed_job(self, site, b):
        """A vanilla proof with a wrong byte in it: the error is shown with the job."""
        broken = self.tmp / "broken.bin"
        data = bytearray(WINDOW[0].vanilla[0].read_bytes())
        data[-40] ^= 1
        broken.write_bytes(data)
        of = Input("window-post", WINDOW[0].request.parent.name, 0)
        of.vanilla = [broken]
        site.daemon.submit("broken job", of)
        b.wait(row("recent-rows", "broken job"), "the broken job has ended", 120)
        text = b.evaluate(f"{row('recent-rows', 'broken job')}.textContent")
        self.assertIn("failed", text)
        self.assertTrue(b.evaluate(f"{row('recent-rows', 'broken job')}.querySelector('.fault').textContent.length") > 10)

    def looks(self, site, b):
        """Both colour schemes have readable contrast, and no width scrolls sideways."""
        grounds = []
        for scheme in ("light", "dark"):
            b.colors(scheme)
            time.sleep(0.3)
            color = {n: b.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{n}').trim()")
                     for n in ("panel", "ground", "ink", "dim", "accent", "good", "warn", "bad", "good-ground",
                               "warn-ground", "bad-ground", "on-slice", "porep", "snap", "window-post",
                               "winning-post")}
            grounds.append(color["ground"])
            for n in ("ink", "dim", "accent", "good", "bad"):
                self.assertGreaterEqual(contrast(color[n], color["panel"]), 4.5, (scheme, n))
            for n in ("good", "warn", "bad"):
                self.assertGreaterEqual(contrast(color[n], color[n + "-ground"]), 4.5, (scheme, n))
            for kind in ("porep", "snap", "window-post", "winning-post"):
                self.assertGreaterEqual(contrast(color["on-slice"], color[kind]), 4.5, (scheme, kind))
            for width, height in ((1440, 1000), (800, 1000), (360, 780)):
                b.size(width, height)
                time.sleep(0.3)
                self.assertLessEqual(b.evaluate("document.documentElement.scrollWidth"), width, (scheme, width))
                b.screenshot(PICTURES / f"page-{scheme}-{width}.png")
        self.assertNotEqual(*grounds)
        b.size(1440, 1000)

    def described(self, b):
        """What is drawn is also said; every control and table has a name; the keyboard reaches the choices."""
        self.assertRegex(b.evaluate("document.getElementById('lanes-text').textContent"),
                         r"synthesis: 0 of [0-9]+ busy; .*partitions wait for a device")
        self.assertRegex(b.evaluate("document.getElementById('memory-text').textContent"), r"Resident .* of 2(\.00)?.GiB")
        self.assertEqual(b.evaluate("[...document.querySelectorAll('canvas')].filter(c => !c.getAttribute('aria-describedby')).length"), 0)
        self.assertEqual(b.evaluate("[...document.querySelectorAll('table')].filter(t => !t.caption).length"), 0)
        b.evaluate("document.querySelector('[data-span=\"30\"]').focus()")
        b.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
        b.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter", windowsVirtualKeyCode=13)
        b.wait("state.span === 30 && document.querySelector('[data-span=\"30\"]').ariaPressed === 'true'", "30 s is chosen", 10)

    def away_and_back(self, site, b):
        """The daemon stops and starts on the same port; the page says so and goes on by itself."""
        site.daemon.stop()
        b.wait("document.getElementById('link').textContent === 'not connected'", "the page says that it has lost the daemon")
        site.daemon.settings["daemon.status_listen"] = f"127.0.0.1:{site.port}"
        site.daemon.write_settings()
        site.daemon.start()
        b.wait("document.getElementById('link').textContent === 'live'", "the page is live again")
        site.daemon.submit("after", WINDOW[0])
        b.wait(row("recent-rows", "after"), "a job of the new process has ended", 120)


if __name__ == "__main__":
    http_test.daemon_test.main()
