//! The objective on rows, its gradient, and an accurate minimiser: Newton's method with inner
//! conjugate gradients, preconditioned by the diagonal.

use std::time::Instant;

use ddiht_core::data::CsrMatrix;

use super::loss::Loss;

/// `P(w) = (1/N) sum l(x'w, y) + (lambda/2) ||w||^2` on the columns of `x`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem<'a> {
    pub(crate) x: &'a CsrMatrix,
    pub(crate) y: &'a [f64],
    pub(crate) loss: Loss,
    pub(crate) lambda: f64,
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Problem<'_> {
    fn rows(&self) -> f64 {
        self.y.len() as f64
    }

    /// `Xw`.
    pub(crate) fn scores(&self, w: &[f64]) -> Vec<f64> {
        self.x.iter().map(|row| row.dot(w)).collect()
    }

    /// `P` where `z = Xw`.
    pub(crate) fn objective(&self, z: &[f64], w: &[f64]) -> f64 {
        let losses: f64 = z.iter().zip(self.y).map(|(&z, &y)| self.loss.value(z, y)).sum();
        losses / self.rows() + self.lambda / 2.0 * dot(w, w)
    }

    /// The gradient of `P` where `z = Xw`.
    pub(crate) fn gradient(&self, z: &[f64], w: &[f64]) -> Vec<f64> {
        let slopes = z.iter().zip(self.y).map(|(&z, &y)| self.loss.slope(z, y));
        self.transposed(slopes, w)
    }

    /// `X'a/N + lambda w`.
    fn transposed(&self, a: impl Iterator<Item = f64>, w: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; w.len()];
        for (row, a) in self.x.iter().zip(a) {
            if a != 0.0 {
                row.axpy_into(a / self.rows(), &mut out);
            }
        }
        out.iter_mut().zip(w).for_each(|(out, w)| *out += self.lambda * w);
        out
    }

    /// A bound on the curvature of `P`, nearly tight, by power iteration.
    pub(crate) fn lipschitz(&self) -> f64 {
        let mut v: Vec<f64> = (0..self.x.cols()).map(|j| 1.0 + 0.1 * (j % 7) as f64).collect();
        let mut sigma_sq = 0.0;
        for _ in 0..30 {
            let norm = dot(&v, &v).sqrt();
            v.iter_mut().for_each(|v| *v /= norm);
            let z = self.scores(&v);
            sigma_sq = dot(&z, &z) / self.rows();
            v.fill(0.0);
            self.x.iter().zip(&z).for_each(|(row, &z)| row.axpy_into(z, &mut v));
        }
        1.05 * self.loss.steepest() * sigma_sq + self.lambda
    }

    /// The minimiser, from `w` on; at `deadline` what there is by then.
    pub(crate) fn minimise(&self, mut w: Vec<f64>, deadline: Instant) -> Vec<f64> {
        let mut z = self.scores(&w);
        let mut p = self.objective(&z, &w);
        for _ in 0..200 {
            let g = self.gradient(&z, &w);
            let d = self.newton_direction(&z, &g, deadline);
            let slope = dot(&g, &d);
            let zd = self.scores(&d);
            let mut t = 1.0;
            let (next, next_z, next_p) = loop {
                let next: Vec<f64> = w.iter().zip(&d).map(|(w, d)| w + t * d).collect();
                let next_z: Vec<f64> = z.iter().zip(&zd).map(|(z, d)| z + t * d).collect();
                let next_p = self.objective(&next_z, &next);
                if next_p <= p + 1e-4 * t * slope || t < 1e-9 {
                    break (next, next_z, next_p);
                }
                t /= 2.0;
            };
            if next_p >= p {
                break;
            }
            (w, z, p) = (next, next_z, next_p);
            if -slope <= 1e-12 * p || Instant::now() >= deadline {
                break;
            }
        }
        w
    }

    /// An approximate solution of `H d = -g`.
    fn newton_direction(&self, z: &[f64], g: &[f64], deadline: Instant) -> Vec<f64> {
        let h: Vec<f64> = z.iter().zip(self.y).map(|(&z, &y)| self.loss.curvature(z, y)).collect();
        let mut diagonal = vec![self.lambda; g.len()];
        for (row, h) in self.x.iter().zip(&h).filter(|(_, h)| **h > 0.0) {
            for (&j, &v) in row.indices.iter().zip(row.values) {
                diagonal[j as usize] += h * f64::from(v).powi(2) / self.rows();
            }
        }
        let mut d = vec![0.0; g.len()];
        let mut r: Vec<f64> = g.iter().map(|g| -g).collect();
        let scaled = |r: &[f64]| r.iter().zip(&diagonal).map(|(r, m)| r / m).collect::<Vec<_>>();
        let mut s = scaled(&r);
        let mut p = s.clone();
        let mut energy = dot(&r, &s);
        // Rough is enough: the next Newton step mends it.
        let enough = 1e-4 * energy;
        for _ in 0..500 {
            if energy <= enough || energy == 0.0 || Instant::now() >= deadline {
                break;
            }
            let xp = self.scores(&p);
            let hp = self.transposed(xp.iter().zip(&h).map(|(z, h)| z * h), &p);
            let along = energy / dot(&p, &hp);
            d.iter_mut().zip(&p).for_each(|(d, p)| *d += along * p);
            r.iter_mut().zip(&hp).for_each(|(r, hp)| *r -= along * hp);
            s = scaled(&r);
            let next = dot(&r, &s);
            p.iter_mut().zip(&s).for_each(|(p, s)| *p = s + next / energy * *p);
            energy = next;
        }
        d
    }
}
