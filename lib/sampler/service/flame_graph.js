/* SPDX-License-Identifier: MIT */
/* The script of a flame graph: a click zooms, Ctrl-F searches, Escape shows all again. */
(function () {
  var svg = document.documentElement, frames = [].slice.call(svg.querySelectorAll('.f'));
  var one = function (id) { return document.getElementById(id); };
  var width = 1180, side = 10, char = 6.6;
  frames.forEach(function (f) {
    var r = f.querySelector('rect');
    f.at = { x: +r.getAttribute('x') - side, w: +r.getAttribute('width'), y: +r.getAttribute('y') };
    f.said = f.querySelector('title').textContent;
    f.name = f.said.replace(/ \([^()]*\)$/, '');
  });
  function place(f, x, w) {
    var r = f.querySelector('rect'), t = f.querySelector('text'), fits = Math.floor((w - 6) / char);
    r.setAttribute('x', x + side);
    r.setAttribute('width', w);
    if (!t) {
      t = document.createElementNS('http://www.w3.org/2000/svg', 'text');
      t.setAttribute('y', f.at.y + 12);
      f.appendChild(t);
    }
    t.setAttribute('x', x + side + 3);
    t.textContent = fits < 3 ? '' : f.name.length <= fits ? f.name : f.name.slice(0, fits - 2) + '..';
  }
  function zoom(to) {
    frames.forEach(function (f) {
      var above = f.at.y > to.at.y && f.at.x <= to.at.x + .001 && f.at.x + f.at.w >= to.at.x + to.at.w - .001;
      var x = (f.at.x - to.at.x) / to.at.w * width, w = f.at.w / to.at.w * width;
      var away = !above && (f.at.y > to.at.y || x + w < .05 || x > width - .05);
      f.classList.toggle('above', above);
      f.classList.toggle('away', away);
      if (!away) place(f, above ? 0 : Math.max(0, x), above ? width : Math.min(width, w));
    });
  }
  function search() {
    var asked = prompt('Functions that match (a regular expression; nothing: none)', ''), seen = 0, end = 0, match;
    if (asked === null) return;
    try { match = new RegExp(asked); } catch (e) { one('found').textContent = 'not a regular expression'; return; }
    frames.slice().sort(function (a, b) { return a.at.x - b.at.x || b.at.w - a.at.w; }).forEach(function (f) {
      var found = asked !== '' && f !== frames[0] && match.test(f.name);
      f.classList.toggle('found', found);
      if (!found || f.at.x + f.at.w <= end + .001) return;
      seen += f.at.x + f.at.w - Math.max(end, f.at.x);
      end = f.at.x + f.at.w;
    });
    one('found').textContent = asked === '' ? '' : 'found in ' + (100 * seen / width).toFixed(1) + ' %';
  }
  function say(event) {
    var f = event.target.closest && event.target.closest('.f');
    one('said').textContent = f ? f.said : '';
  }
  function act(event) {
    var on = event.target.closest ? event.target : svg, f = on.closest('.f');
    if (event.type === 'keydown' && event.key === 'f' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return search();
    }
    if (event.type === 'keydown' && event.key === 'Escape') return zoom(frames[0]);
    if (event.type === 'keydown' && event.key !== 'Enter') return;
    if (f) zoom(f);
    if (on.id === 'reset') zoom(frames[0]);
    if (on.id === 'search') search();
  }
  svg.addEventListener('click', act);
  svg.addEventListener('keydown', act);
  svg.addEventListener('mouseover', say);
  svg.addEventListener('focusin', say);
  scrollTo(0, svg.getAttribute('height'));
})();
